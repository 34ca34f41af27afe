/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How thinly a heap was sampled, over a time in which that changed.  All functions: [offline].
 *
 * The gap of a moment is the mean number of bytes between samples of small blocks, N / keep.
 * Where rate control raises it, a sample of later stands for many of before, and a place of
 * which no such sample came may have more bytes than those that did come tell.  What one of them
 * would have weighed is the thin gap: the one that no more than 2.5 % of the heap's bytes were
 * allocated above.  Where the gap never changed it is that gap.
 */
#ifndef TH_REPORT_GAPS_H
#define TH_REPORT_GAPS_H

#include <stdint.h>

/* Eight classes to an octave. */
#define TH_GAPS_CLASSES (64 * 8)

/* Bytes that were allocated, by the gap of their moment.  Zeroed: none. */
struct th_gaps {
	double all;
	double bytes[TH_GAPS_CLASSES];
	double products[TH_GAPS_CLASSES]; /* of bytes and their gaps */
};

/*
 * Adds a sample: `size`, `interval` and `keep` as the log has them.  One that was certain because
 * every allocation was recorded says nothing about gaps and is left out.
 */
void th_gaps_add(struct th_gaps *gaps, uint64_t size, uint64_t interval, double keep);

/* The thin gap in bytes; 0 without samples that were not certain. */
double th_gaps_thin(const struct th_gaps *gaps);

#endif
