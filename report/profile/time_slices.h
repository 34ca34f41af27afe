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

#define TH_TIME_SLICE_NEVER UINT32_MAX
/* Powers of two that sizes are divided by: up to 1 TiB. */
#define TH_TIME_SLICE_SIZES 41

struct th_time_slice {
	uint32_t row;
	uint32_t birth; /* slice */
	uint32_t death; /* slice; TH_TIME_SLICE_NEVER: alive at the end, or not known */
	uint32_t
		size; /* floor(log2) of the sizes of its blocks; at most TH_TIME_SLICE_SIZES - 1 */
	bool is_temporary;
	struct th_estimator alloc;
};

struct th_time_slices {
	uint32_t slices;
	uint64_t start;              /* of slice 0, CLOCK_MONOTONIC nanoseconds */
	double slice;                /* nanoseconds */
	struct th_time_slice *items; /* by row, then in the order of their first samples */
	size_t items_count;
	/*
	 * Samples whose end is known, by cell; NULL: all ends are known, and `alloc` has the
	 * same sums.
	 */
	struct th_estimator *live;
};

/*
 * Sums up the profile's samples in at most `slices` slices, a power of two; in fewer if there
 * would be more than `most` cells, to limit the size of files.
 */
void th_time_slices_init(struct th_time_slices *cells, const struct th_profile *profile,
	uint32_t slices, size_t most);
void th_time_slices_deinit(struct th_time_slices *cells);

#endif
