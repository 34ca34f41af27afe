/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling interval of this recording (plan.h).  One thread at a time is the writer:
 * the one that does the housekeeping (recording/housekeeping.h).
 */
#ifndef TH_UNIFY_SAMPLE_THROTTLE_H
#define TH_UNIFY_SAMPLE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/plan.h"
#include "unify/shared/log_format.h"

/* Before recording begins. */
void th_throttle_start(const struct th_plan_limits *limits);

/* Current mean bytes between two samples of a heap. [any] */
uint64_t th_throttle_interval(enum th_heap heap);

/* Samples due so far, all heaps together. [any] */
uint64_t th_throttle_due(void);

/* Whether the interval changes by itself. [in-malloc] */
bool th_throttle_is_adaptive(void);

/*
 * Adapts the interval, if it is time to; reads the CPU time of the process, which takes the kernel some
 * 0.1 us for each of its threads.  By the writer. [in-malloc]
 */
void th_throttle_review(uint64_t now);

/* Change the settings.  By the writer. [in-malloc] */
void th_throttle_set_interval(uint64_t interval);
void th_throttle_set_rate(uint64_t rate);

/* Writes what the control page shows of the last second.  By the writer. [in-malloc] */
void th_throttle_show(struct th_log_control *control);

/*
 * The CPU time of a capture is measured for one in 16, and for each until TH_THROTTLE_MEASURED
 * samples were due: begin returns a value for end, which counts it as SELF_CAPTURE_NS.
 * `is_sample`: it belongs to the cost of a sample, of which the plan determines the number; other
 * captures only use up the budget. [in-malloc]
 */
#define TH_THROTTLE_MEASURED 256
uint64_t th_throttle_capture_begins(uint64_t now);
void th_throttle_capture_ends(uint64_t begun, bool is_sample);

/* In a forked child: restores the state before th_throttle_start(). */
void th_throttle_reset(void);

#endif
