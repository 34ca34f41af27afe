/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether something that was measured now and then grows: what a place has in memory, account by
 * account.
 */
#ifndef TH_REPORT_LEAKS_TREND_H
#define TH_REPORT_LEAKS_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/leaks/observation_window.h"

struct th_trend {
	uint32_t points;    /* in the later half and the last before it, or the last six */
	double probability; /* that chance orders these at least as well; 1 below two points */
	double growth;      /* from the warm-up to the last measurement */
	double growth_late; /* from the middle on */
	double lost;        /* sum of all decreases since the warm-up */
	uint64_t last_rise; /* when it had all but 2 % of that growth, time */
	double last_quarter; /* growth in the last quarter of the time from the warm-up to then */
};

/*
 * `values` at ascending `times`, both `count` long; between two measurements a value is taken to
 * change evenly, before the first not at all.
 *
 * The probability is that of the test of Mann (Econometrica 1945) and Kendall against no trend,
 * one-sided: of so many pairs in ascending order among n values of which all orders are equally
 * probable; exact up to 60 points, of which no more than that are used.  Pairs that differ by 2 %
 * of the growth or less count one half: an allocator gives a little back at times.
 */
void th_trend_init(struct th_trend *trend, const struct th_observation_window *horizon,
	const uint64_t *times, const double *values, size_t count);

#endif
