/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells about this process.  Only in the constructor or beside it. */
#ifndef TH_PRELOAD_PROCESS_H
#define TH_PRELOAD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Start time in clock ticks since boot (field 22 of /proc/self/stat): the same before and after
 * exec, another for every process that gets the same id.  0 without /proc.
 */
uint64_t th_process_start_time(void);

/*
 * A number for the pid namespace of this process in this boot of the machine: two processes of the
 * same number, pid and start time are one.  0 where either is not known, as without /proc.
 */
uint64_t th_process_space(void);

/*
 * Whether this process is not the one that the user started: by TH_ROOT_VARIABLE, and
 * where that is not set, whether its parent was itself started with this library preloaded.  False
 * without /proc, or when the parent belongs to somebody else.
 */
bool th_process_is_followed_child(void);

#endif
