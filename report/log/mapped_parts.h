/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings end in parts.  A sample of which some bytes went becomes several samples, one after
 * the other under the same record, each with an end of its own, so that whoever sums samples
 * need not know.
 *
 * A part of b bytes of a sample of s bytes drawn at interval N has the probability of the whole,
 * 1 - exp(-s/N), which is that of a sample of b bytes at interval N b/s.  The part that lasts
 * longest stands for the mapping; the others are marked and count bytes only.
 */
#ifndef TH_REPORT_LOG_MAPPED_PARTS_H
#define TH_REPORT_LOG_MAPPED_PARTS_H

#include "report/log/recording.h"

/* The sample that `bytes` of a mapped sample are by themselves. */
struct th_sample th_mapped_parts_piece(
	struct th_recording *recording, const struct th_sample *whole, uint64_t bytes);

/*
 * Makes the mapped samples of a recording out of `mappings` and `mapped_ends`, and finds their
 * ends; anew whenever something was read.
 */
void th_mapped_parts_split(struct th_recording *recording);

#endif
