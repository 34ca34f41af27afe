/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling interval, which follows the load: the number of samples due is
 * inversely proportional to the interval.
 *
 * A higher load raises the interval at once; a lower one halves it after two seconds: a program that
 * paused, for a collection or on a busy machine, resumes with its full load, which at a small interval
 * would be a surge of samples.
 */
#ifndef TH_UNIFY_SAMPLE_INTERVAL_CONTROL_H
#define TH_UNIFY_SAMPLE_INTERVAL_CONTROL_H

#include <stdint.h>

/* HotSpot's parameter is a jint. */
#define TH_INTERVAL_CONTROL_MAX INT32_MAX

struct th_interval_control {
	uint64_t value;      /* bytes; atomic: one writer, any reader */
	uint64_t unit;       /* bytes: the value is this times a power of the root of 2, */
	int32_t step;        /* this one */
	uint64_t least;      /* bytes */
	uint64_t calm_since; /* ns: the load has been low since; 0 = it is not */
};

/* Starts at `value`, which may be 0: every allocation.  Not concurrently. */
void
th_interval_control_init(struct th_interval_control *control, uint64_t value, uint64_t least);

/* Sets the value, and makes it the lower bound.  One writer. [in-malloc] */
void th_interval_control_set(struct th_interval_control *control, uint64_t value);

/*
 * Follows a load: samples due lately, divided by the number wanted in that time.  The interval
 * stays at or above `floor` bytes.  `now` in ns.  One writer. [in-malloc]
 */
void th_interval_control_follow(
	struct th_interval_control *control, double load, uint64_t floor, uint64_t now);

/* The interval, bytes; 0: every allocation. [in-malloc] */
uint64_t th_interval_control_value(const struct th_interval_control *control);

#endif
