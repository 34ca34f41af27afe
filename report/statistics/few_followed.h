/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectors under which only a few of the sampled Java objects are followed until they die: the
 * weights of those that a collection has judged are scaled to represent all (docs/statistics.md,
 * few followed objects).
 */
#ifndef TH_REPORT_STATISTICS_FEW_FOLLOWED_H
#define TH_REPORT_STATISTICS_FEW_FOLLOWED_H

#include "report/statistics/lifetimes.h"

/* Whether the recording is of such a collector: only objects with a JAVA_FOLLOWED have a known end. */
bool th_few_followed_apply(const struct th_recording *recording);

/*
 * Fills `followed`, which the lifetimes own, and the sums beside it, and sets the ends of the objects that
 * are followed or unknown.  Before deaths are entered.
 */
void th_few_followed_find(struct th_lifetimes *lifetimes);

#endif
