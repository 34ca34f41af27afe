/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording as a whole: its beginning and its end.  Samples: sample.h.
 */
#ifndef TH_UNIFY_RECORDING_RECORDER_H
#define TH_UNIFY_RECORDING_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/sample/settings.h"

/*
 * Lets the first sample that is due begin the recording: `begin` is to call th_recorder_start(), or
 * th_recorder_stop().  For a process that is to create no log before it has a sample.
 */
void th_recorder_wait(const struct th_recorder_settings *settings, void (*begin)(void));

/*
 * Maps the tables and begins to record into the log, which must be there: the calling thread at
 * once, others that were there before when they have allocated some MiB.  False: no memory.
 * Not from the malloc path.
 */
bool th_recorder_start(const struct th_recorder_settings *settings);

/* Ends recording; captures in flight are waited for, at most a second. [any] */
void th_recorder_stop(void);

/*
 * Ends recording for good: serves a last request, writes the exact bytes of all threads and closes
 * the log.  Once; under the guard, not within a capture. [any]
 */
void th_recorder_end(void);

/* Brings the counters in the log's header up to date. [any] */
void th_recorder_refresh(void);

/* In a forked child: back to the state before th_recorder_start. */
void th_recorder_reset(void);

/* What th_recorder_start was given. [any] */
const struct th_recorder_settings *th_recorder_settings(void);

#endif
