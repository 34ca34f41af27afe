/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals for the unseen part of a value. */
#ifndef TH_REPORT_STATISTICS_INTERVAL_H
#define TH_REPORT_STATISTICS_INTERVAL_H

#include "report/statistics/estimate.h"

/*
 * Samples and the unseen value that they represent, described as if all blocks were equal. Each
 * hit represents `weight` (s/p), of which (1-p)/p blocks of value weight * p are unseen.
 */
struct th_unseen {
	double weight;
	double hits; /* need not be an integer */
	double hit;  /* p, in (0, 1) */
	double miss; /* 1 - p */
	double next; /* possible weight of one more hit; at most `weight`: same as that */
};

/* The 95 % limits of the unseen value; 0 <= low <= high. */
struct th_limits {
	double low;
	double high;
};

/* Limits from the hits alone. */
struct th_limits th_interval_alone(const struct th_unseen *unseen);

/*
 * Limits for a part of a known total: `share` describes the part, `rest` the remainder, and the
 * means of the two add up to the total.
 */
struct th_limits th_interval_share(const struct th_unseen *share, const struct th_unseen *rest);

#endif
