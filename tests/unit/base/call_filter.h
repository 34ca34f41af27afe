/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that refuse a system call or ignore it, by a filter of this process. */
#ifndef TH_TESTS_CALL_FILTER_H
#define TH_TESTS_CALL_FILTER_H

#include <stdint.h>

#include <linux/seccomp.h>

/* Arguments of call_filter_run(): the call returns an error, or 0 without any effect. */
#define CALL_FAILS(error) (SECCOMP_RET_ERRNO | (error))
#define CALL_IGNORED SECCOMP_RET_ERRNO
#define CALL_ENDS_PROCESS SECCOMP_RET_KILL_PROCESS

/*
 * Runs `run` in a child in which a system call is answered by the filter; it ends the child by
 * _exit().  Returns the child's status of waitpid(2).  Skips the test if there are no filters.
 */
int call_filter_run(long call, uint32_t answer, void (*run)(void *data), void *data);

#endif
