/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of a recording.  Samples: sample.h. */
#ifndef TH_UNIFY_RECORDING_RECORDER_H
#define TH_UNIFY_RECORDING_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/sample/plan.h"
#include "unify/shared/log_format.h"

/* What a recording samples, as set by the user (preload/settings.h) or by default. */
struct th_recorder_settings {
	struct th_plan_limits limits;
	uint32_t depth; /* frames per stack; the root end of deeper ones is cut */
	uint32_t heaps; /* bits 1 << enum th_heap: sampled; current state: admission.h */
	uint32_t seen;  /* the same: can be switched on, now or later */
	uint64_t seed;  /* of samplers that belong to no thread */
};

/*
 * Defers the recording until the first sample is due: `begin` must call th_recorder_start() or
 * th_in_flight_close().  For a process that creates no log before it has a sample.
 */
void th_recorder_wait(const struct th_recorder_settings *settings, void (*begin)(void));

/*
 * Starts recording into the log, which must exist.  The calling thread is sampled at once, other
 * existing threads after they have allocated some MiB.  Not from the malloc path.
 */
void th_recorder_start(const struct th_recorder_settings *settings);

/*
 * Marks in the log that the process or its Java VM begins to end, once for each cause but SIGNAL, with the
 * exact bytes of mapped memory.  What is freed from then on was held until then: the report takes live
 * values before (report/statistics/teardown.h).  `detail` may be NULL.  Does nothing unless this process
 * is recorded.  The guard must be held.  Preserves errno. [any]
 */
void th_teardown_begins(enum th_teardown_cause cause, const char *detail);

/*
 * Ends recording permanently: serves a last request, writes the exact bytes of all threads and
 * closes the log.  Once; under the guard, not within a capture. [any]
 */
void th_recorder_end(void);

/*
 * Updates the counters in the log's header, and the figures of thread starts; th_recorder_look()
 * all but the library's own memory, which takes 0.1 to 1 ms to count. [any]
 */
void th_recorder_refresh(void);
void th_recorder_look(void);

/*
 * After the end of a recording: restores the state before th_recorder_start(), so that another one
 * can begin in the same process.  The tables keep their memory.  False: the last one has not ended
 * completely yet.  The guard must be held. [any]
 */
bool th_recorder_restart(void);

/* In a forked child: restores the state before th_recorder_start(). */
void th_recorder_reset(void);

/* The settings passed to th_recorder_start(). [any] */
const struct th_recorder_settings *th_recorder_settings(void);

#endif
