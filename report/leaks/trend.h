/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a series of measurements for growth: the resident memory of a site over the snapshots.
 */
#ifndef TH_REPORT_LEAKS_TREND_H
#define TH_REPORT_LEAKS_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/leaks/observation_window.h"

struct th_trend {
	uint32_t points;     /* in the later half and the last before it, or the last six */
	double probability;  /* p of this order or a better one by chance; 1 below two points */
	double growth;       /* from the warm-up to the last measurement */
	double growth_late;  /* since the middle; the same as `growth` if none is later */
	bool spans_middle;   /* there are measurements before and after it */
	double lost;         /* sum of all decreases since the warm-up */
	uint64_t last_rise;  /* time at which it had all but 2 % of that growth */
	double last_quarter; /* growth in the last quarter before last_rise */
};

/*
 * `values` at ascending `times`, both `count` long. Values are interpolated linearly between
 * measurements and constant before the first.
 *
 * The probability is that of the test of Mann (Econometrica 1945) and Kendall against no trend,
 * one-sided: of at least this number of pairs in ascending order among n values of which all
 * orders are equally probable. It is exact; at most 60 points are used. Pairs that differ by 2
 * % of the growth or less count one half: allocators release a little from time to time.
 */
void th_trend_init(struct th_trend *trend, const struct th_observation_window *horizon,
	const uint64_t *times, const double *values, size_t count);

#endif
