/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a recording can tell what leaks.
 *
 * It is looked at from its start to a horizon, up to which it is known what died: its end for
 * the native heap; for the Java heap the last collection that looked at old objects, or, if that
 * is too long ago, the last one at all, which proves nothing about old objects.
 *
 * With --from and --to only what was allocated between them is looked at, as though the
 * recording had begun and ended there; whether it died is known from all of it.
 */
#ifndef TH_REPORT_LEAKS_OBSERVATION_WINDOW_H
#define TH_REPORT_LEAKS_OBSERVATION_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

/* The times that matter for one heap, CLOCK_MONOTONIC nanoseconds. */
struct th_observation_window {
	uint64_t origin; /* the recording's start, from which seconds are counted */
	uint64_t start;
	uint64_t warm;    /* end of the warm-up */
	uint64_t middle;  /* between that and the horizon */
	uint64_t horizon; /* until here it is known what died */
	uint64_t end;     /* of the recording, or of the part that is looked at */
	uint64_t old;     /* nanoseconds that an old block has lived at least */
	bool is_proven;   /* of old blocks too */
};

/* The horizon of a heap; a Java heap without collections has one at its start. */
void th_observation_window_init(struct th_observation_window *horizon,
	const struct th_profile *profile, enum th_heap heap);

/* Whether the horizon leaves enough of the time to tell anything. */
bool th_observation_window_is_far(const struct th_observation_window *horizon);

#endif
