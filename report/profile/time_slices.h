/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a profile by time: how much of each row was allocated in one time slice of the
 * recording and ended in another, by size. Any range of slices can then be summed up without the
 * samples.
 */
#ifndef TH_REPORT_PROFILE_TIME_SLICES_H
#define TH_REPORT_PROFILE_TIME_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

#define TH_TIME_SLICE_NEVER UINT16_MAX
/* Powers of two that sizes are divided by: up to 1 TiB. */
#define TH_TIME_SLICE_SIZES 41

/* 28 bytes, since there may be several for each of a million rows. */
struct th_time_slice {
	uint32_t row;
	uint16_t birth; /* slice */
	uint16_t death; /* slice; TH_TIME_SLICE_NEVER: alive at the end, or not known */
	uint8_t size;   /* floor(log2) of the sizes of its blocks; below TH_TIME_SLICE_SIZES */
	bool is_temporary;
	/* Allocated: th_sums_point() and variance; at most FLT_MAX. */
	float bytes;
	float objects;
	float bytes_variance;
	float objects_variance;
};

/* The samples of a cell whose end is known: th_sums_point(). */
struct th_time_slice_live {
	float bytes;
	float objects;
};

struct th_time_slices {
	uint32_t slices;
	uint64_t start; /* of slice 0, CLOCK_MONOTONIC nanoseconds */
	double slice;   /* nanoseconds */
	TH_ARRAY(struct th_time_slice,
		items); /* by row, then in the order of their first samples */
	bool has_live;  /* not all ends are known; otherwise `items` has the same sums */
	TH_ARRAY(struct th_time_slice_live, live); /* by cell */
};

/*
 * Sums up the profile's samples in at most `slices` slices, a power of two up to 2^15; in fewer
 * if there would be more than `most` cells, to limit the size of files.
 */
void th_time_slices_init(struct th_time_slices *cells, const struct th_profile *profile,
	uint32_t slices, size_t most);
void th_time_slices_deinit(struct th_time_slices *cells);

#endif
