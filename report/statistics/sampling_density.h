/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How closely a heap was sampled, over a time in which that changed: rate control and `ctl` move
 * the interval, thin samples out and pause.  Ever fewer samples are then no sign of ever fewer
 * allocations.
 *
 * A clock counts that out: it goes from 0 to 1 and as fast as samples of a steady allocation were
 * to be expected, so that these are uniform in it whatever the sampling did.
 */
#ifndef TH_REPORT_STATISTICS_SAMPLING_DENSITY_H
#define TH_REPORT_STATISTICS_SAMPLING_DENSITY_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"

/* Parts of the time, each of which is taken to be even: a sampling interval lasts a second at least. */
#define TH_DENSITY_PARTS 64

/* A part without samples is taken to be like the one before it. */
struct th_sampling_density_part {
	double sampled;  /* part of it in which the heap was sampled */
	double interval; /* mean bytes between samples; 0: every allocation was due */
	double keep;     /* part of the samples due that were kept */
};

struct th_sampling_density {
	uint64_t from;
	uint64_t to;
	bool is_even; /* the same in all parts */
	struct th_sampling_density_part parts[TH_DENSITY_PARTS];
};

/* How closely a heap was sampled between two times. */
void th_sampling_density_init(struct th_sampling_density *density,
	const struct th_recording *recording, enum th_heap heap, uint64_t from, uint64_t to);

struct th_sampling_clock {
	uint64_t from;
	uint64_t to;
	double starts[TH_DENSITY_PARTS + 1]; /* what it shows when a part starts */
};

/*
 * For blocks of `size` bytes: large ones are sampled at any interval.  Of a heap that was never
 * sampled the clock goes evenly.
 */
void th_sampling_clock_init(struct th_sampling_clock *clock,
	const struct th_sampling_density *density, double size);

/* What it shows, 0 at `from` and before, 1 at `to` and after. */
double th_sampling_clock_at(const struct th_sampling_clock *clock, uint64_t time);

/* What an allocation at `time` that was sampled stands for: 1 of all in the mean. */
double th_sampling_clock_weight(const struct th_sampling_clock *clock, uint64_t time);

#endif
