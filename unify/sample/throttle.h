/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many samples are taken: the rate control and the overhead budget, both heaps together, and
 * what the control page asks for.  The agent thread looks after them; where there is none, the
 * threads with a sample due do so.
 */
#ifndef TH_UNIFY_SAMPLE_THROTTLE_H
#define TH_UNIFY_SAMPLE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct th_recorder_settings;
struct th_thread_record;

/* With the interval, rate and overhead of the settings.  Before recording begins. */
void th_throttle_start(const struct th_recorder_settings *settings);

/*
 * Mean bytes between samples at present: the rate control moves it, never below the setting.
 * [any]
 */
uint64_t th_throttle_interval(void);

/*
 * A sample is due: lets the rate control look at the time, if it is up, and serves the control
 * page where no thread does. [in-malloc]
 */
void th_throttle_look(uint64_t now);

/*
 * Whether the rate control lets the calling thread's sample be recorded, and the probability with
 * which it did.  Counts it as due.  The guard must be held. [in-malloc]
 */
bool th_throttle_keeps(struct th_thread_record *record, uint64_t now, double *keep_ret);

/* Lets the rate control look at the time and serves the control page. [any] */
void th_throttle_roll(void);

/*
 * From now on, or no longer, a thread calls th_throttle_roll() every 50 ms at least: requests wait for
 * it and are not served inside malloc. [agent-thread]
 */
void th_throttle_set_server(bool has_server);
bool th_throttle_has_server(void);

/* Whether somebody asked for the end (`twinheap ctl stop`), which then is near or past. [any] */
bool th_throttle_is_ending(void);

/* In a forked child: back to the state before th_throttle_start(). */
void th_throttle_reset(void);

#endif
