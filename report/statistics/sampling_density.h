/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling density of a heap, over a time in which it changed: the budget, a rate and `ctl`
 * change the interval, and `ctl` pauses. A decline of samples is then no evidence of
 * a decline of allocations.
 *
 * A clock compensates for that: it goes from 0 to 1, at the rate of the expected samples of a
 * steady allocation, so that their times are uniform on it whatever the sampling did.
 */
#ifndef TH_REPORT_STATISTICS_SAMPLING_DENSITY_H
#define TH_REPORT_STATISTICS_SAMPLING_DENSITY_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

/*
 * Parts of the time, each assumed to be uniform: a sampling interval lasts at least a second.
 */
#define TH_DENSITY_PARTS 64

/* A part without samples is assumed to be like the one before it. */
struct th_sampling_density_part {
	double sampled;  /* fraction of it in which the heap was sampled */
	double interval; /* mean bytes between samples; 0: every allocation was due */
};

struct th_sampling_density {
	uint64_t from;
	uint64_t to;
	struct th_sampling_density_part parts[TH_DENSITY_PARTS];
};

/* The sampling density of a heap between two times. */
void th_sampling_density_init(struct th_sampling_density *density,
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to);

struct th_sampling_clock {
	uint64_t from;
	uint64_t to;
	double starts[TH_DENSITY_PARTS + 1]; /* value at the start of a part */
};

/*
 * For blocks of `size` bytes: large ones are sampled at any interval. The clock of a heap that
 * was never sampled is linear.
 */
void th_sampling_clock_init(struct th_sampling_clock *clock,
	const struct th_sampling_density *density, double size);

/* The clock's value, 0 at `from` and before, 1 at `to` and after. */
double th_sampling_clock_at(const struct th_sampling_clock *clock, uint64_t time);

/* Weight of a sampled allocation at `time`: 1 on average. */
double th_sampling_clock_weight(const struct th_sampling_clock *clock, uint64_t time);

#endif
