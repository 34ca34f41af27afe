/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about this process, from /proc.  Only called from the constructor or around it. */
#ifndef TH_PRELOAD_PROCESS_H
#define TH_PRELOAD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number for the pid namespace of this process in this boot of the machine: two processes
 * with the same number, pid and start time are the same process.  0 where either is unknown, as
 * without /proc.
 */
uint64_t th_process_space(void);

/*
 * Whether this process is not the one that the user started: by TH_ROOT_VARIABLE or, if that is
 * not set, by whether its parent was itself started with this library preloaded.  False without
 * /proc, or when the parent belongs to another user.
 */
bool th_process_is_followed_child(void);

#endif
