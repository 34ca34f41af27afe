/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/water_level.h"

/*
 * The level if exactly the demands up to `level` are met, which are taken out of the array and of
 * `total`.
 */
static double
next_level(double *demands, size_t *count, double *total, double level)
{
	size_t above = 0;

	for (size_t i = 0; i < *count; i++) {
		if (demands[i] > level)
			demands[above++] = demands[i];
		else
			*total -= demands[i];
	}
	*count = above;
	return above ? *total / (double)above : level;
}

double
th_water_level(double *demands, size_t count, double total)
{
	double whole = total;
	double level = count ? total / (double)count : total;

	/* The level only rises, and each time meets at least one more demand, or is final. */
	while (count) {
		double next = next_level(demands, &count, &total, level);

		if (count && next <= level)
			return level;
		level = next;
	}
	return whole;
}
