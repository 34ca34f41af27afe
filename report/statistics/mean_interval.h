/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling density of a heap, over a time in which it changed.
 *
 * The gap at a time is the mean number of bytes between samples of small blocks, N / keep.
 * Where rate control raises it, a later sample represents many earlier ones, and a site without
 * a later sample may have more bytes than its samples show. The weight that one such sample may
 * have had is the thin gap: the root mean square of the gaps at which the heap's bytes were
 * allocated. If the gap never changed it is that gap.
 *
 * `keep` may differ from site to site at one time: the samples of frequent sites are thinned out,
 * those of rare ones are not. Then the gap is that of a rare site, whose keep is the largest among
 * the samples around: a site without samples is rare, and a frequent one has many, of its own
 * weight.
 */
#ifndef TH_REPORT_STATISTICS_MEAN_INTERVAL_H
#define TH_REPORT_STATISTICS_MEAN_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

/* Sums over the bytes of a heap. Zeroed: none. */
struct th_mean_interval {
	double bytes;
	double squares; /* of the gaps */
};

/*
 * Adds a sample: `size`, `interval` and `keep` as in the log; `rare`: the keep of a rare site at
 * that time, at least `keep`. A sample that was certain because every allocation was recorded has
 * no gap and is left out.
 */
void th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double rare);

/*
 * The keep of a rare site at the time of sample `index` of `count`, by time, whose keeps are
 * keep_of(samples, i): the largest among this one and the 16 before, or after if that is smaller.
 * A time in which all samples were thinned out is not taken for one in which the rare were kept,
 * although these are near.
 */
double th_mean_interval_rare(double (*keep_of)(const void *samples, size_t i),
	const void *samples, size_t count, size_t index);

/* The thin gap in bytes; 0 without samples that were not certain. */
double th_mean_interval_thin(const struct th_mean_interval *gaps);

#endif
