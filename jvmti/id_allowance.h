/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits method IDs to a number at once, and the same number in each second of the process's CPU
 * time.  On a busy machine a process links fewer classes in a second of the clock, so a limit by
 * the clock would allow an ID for a larger part of its methods.
 */
#ifndef TH_JVMTI_ID_ALLOWANCE_H
#define TH_JVMTI_ID_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Shared by threads without a lock; races cost a few IDs.  All zero at first. */
struct th_id_allowance {
	uint32_t used; /* atomic: IDs that CPU time has not yet made up for */
	uint64_t time; /* atomic, ns: when that was last computed */
	uint64_t cpu;  /* atomic, ns: CPU time of the process then */
};

/* Starts it now; IDs used before still count. [any] */
void th_id_allowance_start(struct th_id_allowance *allowance, uint64_t now, uint64_t cpu);

/*
 * Whether further IDs may be created, with a limit of `rate`.  `read_cpu`: returns the CPU time of
 * the process (ns), called at most ten times per second. [any]
 */
bool th_id_allowance_is_left(struct th_id_allowance *allowance, uint32_t rate, uint64_t now,
	uint64_t (*read_cpu)(void));

/* `count` IDs were created. [any] */
void th_id_allowance_use(struct th_id_allowance *allowance, uint32_t count);

#endif
