/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling density of a heap, over a time in which it changed.
 *
 * The gap at a time is the mean number of bytes between samples of small blocks, N / keep.
 * Where it is raised, a later sample represents many earlier ones, and a site without
 * a later sample may have more bytes than its samples show. The weight that one such sample may
 * have had is the thin gap: the root mean square of the gaps at which the heap's bytes were
 * allocated. If the gap never changed it is that gap.
 */
#ifndef TH_REPORT_STATISTICS_MEAN_INTERVAL_H
#define TH_REPORT_STATISTICS_MEAN_INTERVAL_H

#include <stdint.h>

/* Sums over the bytes of a heap. Zeroed: none. */
struct th_mean_interval {
	double bytes;
	double squares; /* of the gaps */
};

/*
 * Adds a sample: `size`, `interval` and `keep` of struct th_sample; `unseen`: the keep of a sample that
 * was missed, at least `keep`: 1 if a ring would not have thinned it out. A sample that was certain because every allocation was recorded has
 * no gap and is left out.
 */
void th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double unseen);

/* The thin gap in bytes; 0 without samples that were not certain. */
double th_mean_interval_thin(const struct th_mean_interval *gaps);

#endif
