/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many samples are taken: the rate control and the overhead budget, all heaps together.  One
 * thread at a time is the rate's writer: whoever does the housekeeping (recording/housekeeping.h).
 */
#ifndef TH_UNIFY_SAMPLE_THROTTLE_H
#define TH_UNIFY_SAMPLE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct th_rate;
struct th_recorder_settings;
struct th_thread_record;

/* With the interval, rate and overhead of the settings.  Before recording begins. */
void th_throttle_start(const struct th_recorder_settings *settings);

/*
 * Mean bytes between samples at present: the rate control moves it, never below the setting.
 * [any]
 */
uint64_t th_throttle_interval(void);

/* Whether a rate window has ended. [in-malloc] */
bool th_throttle_is_due(uint64_t now);

/* Ends the window: the rate control, the overhead budget.  By the rate's writer. [in-malloc] */
void th_throttle_roll(uint64_t now);

/* For its writer. [any] */
struct th_rate *th_throttle_rate(void);

/*
 * Whether the rate control lets the calling thread's sample be recorded, and the probability with
 * which it did.  Counts it as due.  The guard must be held. [in-malloc]
 */
bool th_throttle_keeps(struct th_thread_record *record, uint64_t now, double *keep_ret);

/* In a forked child: back to the state before th_throttle_start(). */
void th_throttle_reset(void);

#endif
