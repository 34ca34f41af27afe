/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of samples taken, for all heaps together: which due samples are kept
 * (rate_control.h), how many may be, and with which intervals (plan.h).  One thread at a time is
 * the writer of both: the one that does the housekeeping (recording/housekeeping.h).
 */
#ifndef TH_UNIFY_SAMPLE_THROTTLE_H
#define TH_UNIFY_SAMPLE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/site_rates.h"
#include "unify/shared/log_format.h"

struct th_recorder_settings;
struct th_thread_record;

/* Applies the interval, rate and overhead of the settings.  Before recording begins. */
void th_throttle_start(const struct th_recorder_settings *settings);

/* Current mean bytes between the samples of a heap. [any] */
uint64_t th_throttle_interval(enum th_heap heap);

/* Current maximum samples per second, all heaps together; 0 = none. [any] */
uint64_t th_throttle_target(void);

/* Samples due so far, all heaps together. [any] */
uint64_t th_throttle_due(void);

/* Whether a rate window has ended. [in-malloc] */
bool th_throttle_is_due(uint64_t now);

/* Closes the window.  By the writer. [in-malloc] */
void th_throttle_roll(uint64_t now);

/*
 * Adapts the number of samples and the intervals, if it is time to; reads the CPU time of the
 * process, which takes the kernel some 0.1 us for each of its threads.  By the writer.
 * [in-malloc]
 */
void th_throttle_review(uint64_t now);

/* Change the settings.  By the writer. [in-malloc] */
void th_throttle_set_interval(uint64_t interval);
void th_throttle_set_rate(uint64_t rate);

/* Writes what the control page shows of the last second.  By the writer. [in-malloc] */
void th_throttle_show(struct th_log_control *control);

/* Whether th_throttle_choose() needs to know the site. [in-malloc] */
bool th_throttle_needs_sites(void);

struct th_throttle_choice {
	bool is_kept;
	double keep;    /* the probability of that, if it is kept */
	double of_site; /* the part of it that depends on the site alone */
};

/*
 * Counts the calling thread's sample as due, and decides whether it is recorded.  `site`: what samples
 * of one allocation site have in common.  The guard must be held. [in-malloc]
 */
struct th_throttle_choice th_throttle_choose(struct th_thread_record *record, enum th_heap heap,
	struct th_site_key site, uint64_t now);

/*
 * The CPU time of a capture is measured for one in 16, and for each until TH_THROTTLE_MEASURED
 * samples are recorded: begin returns a value for end, which counts it as SELF_CAPTURE_NS.
 * `is_sample`: it belongs to the cost of a sample, of which the plan decides the number; other
 * captures only use up the budget. [in-malloc]
 */
#define TH_THROTTLE_MEASURED 256
uint64_t th_throttle_capture_begins(uint64_t now);
void th_throttle_capture_ends(uint64_t begun, bool is_sample);

/* In a forked child: restores the state before th_throttle_start(). */
void th_throttle_reset(void);

#endif
