/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of samples taken: rate control and overhead budget, for all heaps together.  One
 * thread at a time is the writer of the rate: the one that does the housekeeping
 * (recording/housekeeping.h).
 */
#ifndef TH_UNIFY_SAMPLE_THROTTLE_H
#define TH_UNIFY_SAMPLE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct th_rate;
struct th_recorder_settings;
struct th_thread_record;

/* Applies the interval, rate and overhead of the settings.  Before recording begins. */
void th_throttle_start(const struct th_recorder_settings *settings);

/* Current mean bytes between samples: rate control moves it, never below the setting. [any] */
uint64_t th_throttle_interval(void);

/* Whether a rate window has ended. [in-malloc] */
bool th_throttle_is_due(uint64_t now);

/*
 * Closes the window: updates the rate control and the overhead budget.  By the rate's writer.
 * [in-malloc]
 */
void th_throttle_roll(uint64_t now);

/* The rate control, for its writer. [any] */
struct th_rate *th_throttle_rate(void);

/*
 * Counts the calling thread's sample as due, decides whether it is recorded, and returns the
 * probability of that.  The guard must be held. [in-malloc]
 */
bool th_throttle_keeps(struct th_thread_record *record, uint64_t now, double *keep_ret);

/* In a forked child: restores the state before th_throttle_start(). */
void th_throttle_reset(void);

#endif
