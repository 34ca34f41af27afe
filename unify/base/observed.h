/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that a breakdown of resident memory is of.  In the library that is the process
 * itself.  In the tool it may be another one, whose memory is read with process_vm_readv(2):
 * remote_tables.h.
 */
#ifndef TH_UNIFY_BASE_OBSERVED_H
#define TH_UNIFY_BASE_OBSERVED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* What a module has the tool copy of its tables. */
struct th_observed_part {
	const void *start;
	uint32_t bytes;       /* of what is there */
	uint32_t entry_bytes; /* of an entry of the table that it leads to; 0 = none */
};

/* `pid` is observed from now on; 0: this process, as at the start. [any] */
void th_observed_set(pid_t pid);

/* Whether another process is observed. [any] */
bool th_observed_is_other(void);

/* "/proc/self/NAME", or "/proc/PID/NAME" of another process. [any] */
#define TH_OBSERVED_PATH_MAX 64
const char *th_observed_path(const char *name, char path[TH_OBSERVED_PATH_MAX]);

/*
 * Copies bytes at an address of the process; false, with errno: not all of them can be read.  What
 * is there may be unmapped at any moment: this fails where a plain read would fault. [any]
 */
bool th_observed_copy(uintptr_t from, void *ret, uint64_t bytes);

/* The same for `count` pieces of together `bytes` bytes, one after the other, in one call. [any] */
bool th_observed_copy_pieces(
	const struct iovec *from, const struct iovec *to, unsigned count, uint64_t bytes);

#endif
