/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a recording over which leaks can be judged.
 *
 * It reaches from the start of the recording to a horizon, up to which deaths are known: the
 * profile's `at` for the native heap, which is the last time before the process began to end or
 * the one of --at; for the Java heap the last GC of the old generation before that, or, if that is
 * too long ago, the last GC of any kind, which does not prove anything about old objects.
 *
 * With --from and --to only allocations between them are evaluated, as though the recording had
 * begun and ended there. Deaths after `at` are ignored; a GC that was over by then may have
 * reported its deaths later.
 */
#ifndef TH_REPORT_LEAKS_OBSERVATION_WINDOW_H
#define TH_REPORT_LEAKS_OBSERVATION_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

/* The times that matter for one heap, CLOCK_MONOTONIC nanoseconds. */
struct th_observation_window {
	uint64_t origin; /* start of the recording, from which seconds are counted */
	uint64_t start;
	uint64_t warm;    /* end of the warm-up */
	uint64_t middle;  /* between that and the horizon */
	uint64_t horizon; /* deaths are known up to here */
	uint64_t end;     /* of the chosen part, `at` at the latest */
	uint64_t old;     /* minimum age of an old block, nanoseconds */
	bool is_proven;   /* deaths of old blocks are known too */
};

/* The horizon of a heap; for a Java heap without GCs it is the start. */
void th_observation_window_init(struct th_observation_window *horizon,
	const struct th_profile *profile, enum th_heap heap);

/* Whether the horizon leaves enough of the time for a verdict; for that of a leak. */
bool th_observation_window_is_far(const struct th_observation_window *horizon);
bool th_observation_window_may_leak(const struct th_observation_window *horizon);

#endif
