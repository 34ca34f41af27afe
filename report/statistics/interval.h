/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals for what was not seen. */
#ifndef TH_REPORT_STATISTICS_INTERVAL_H
#define TH_REPORT_STATISTICS_INTERVAL_H

/*
 * Samples and the unseen value they speak for, described as if all blocks were alike.  Each hit
 * stands for `weight` (s/p), of which (1-p)/p blocks of value weight * p are unseen.
 */
struct th_unseen {
	double weight;
	double hits; /* need not be whole */
	double hit;  /* p, in (0, 1) */
	double miss; /* 1 - p */
	double next; /* what a hit may weigh that did not come; no more than `weight`: as those did */
};

/* The 95 % limits of the unseen value; 0 <= low <= high. */
struct th_limits {
	double low;
	double high;
};

/* The unseen value that is expected: hits * weight * (1-p). */
double th_unseen_mean(const struct th_unseen *unseen);

/* Limits from the hits alone. */
struct th_limits th_interval_alone(const struct th_unseen *unseen);

/*
 * Limits for a part of a total that is known: `share` speaks for it, `rest` for the remainder,
 * and the means of the two add up to the total.
 */
struct th_limits th_interval_share(const struct th_unseen *share, const struct th_unseen *rest);

#endif
