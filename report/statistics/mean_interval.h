/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How thinly a heap was sampled, over a time in which that changed.
 *
 * The gap of a moment is the mean number of bytes between samples of small blocks, N / keep.
 * Where rate control raises it, a sample of later stands for many of before, and a place of
 * which no such sample came may have more bytes than those that did come tell.  What one of them
 * may have weighed is the thin gap: the root of the mean square of the gaps at which the heap's
 * bytes were allocated.  Where the gap never changed it is that gap.
 */
#ifndef TH_REPORT_STATISTICS_MEAN_INTERVAL_H
#define TH_REPORT_STATISTICS_MEAN_INTERVAL_H

#include <stdint.h>

/* Sums over the bytes of a heap.  Zeroed: none. */
struct th_mean_interval {
	double bytes;
	double squares; /* of the gaps */
};

/*
 * Adds a sample: `size`, `interval` and `keep` as the log has them.  One that was certain because
 * every allocation was recorded says nothing about gaps and is left out.
 */
void th_mean_interval_add(
	struct th_mean_interval *gaps, uint64_t size, uint64_t interval, double keep);

/* The thin gap in bytes; 0 without samples that were not certain. */
double th_mean_interval_thin(const struct th_mean_interval *gaps);

#endif
