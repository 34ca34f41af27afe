/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings can end in parts. A partly unmapped sample becomes several consecutive samples with
 * the same record, each with its own end, so that code that sums samples needs no special case.
 *
 * A part of b bytes of a sample of s bytes drawn at interval N has the probability of the
 * whole, 1 - exp(-s/N), which is that of a sample of b bytes at interval N b/s. The
 * longest-lived part represents the mapping; the others are marked and count bytes only.
 */
#ifndef TH_REPORT_LOG_MAPPED_PARTS_H
#define TH_REPORT_LOG_MAPPED_PARTS_H

#include "report/log/recording.h"

/*
 * Makes the mapped samples of a recording from `mappings` and `mapped_ends`, which it sorts, and
 * determines their ends.
 */
void th_mapped_parts_split(struct th_recording *recording);

#endif
