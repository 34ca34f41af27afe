/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/water_level.h"

#include <stdbool.h>

/*
 * The level if exactly the demands up to `level` are met; *met_ret: there is a demand above it.
 */
static double
next_level(const double *demands, size_t count, double total, double level, bool *is_above_ret)
{
	size_t above = 0;

	for (size_t i = 0; i < count; i++) {
		if (demands[i] > level)
			above++;
		else
			total -= demands[i];
	}
	*is_above_ret = above;
	return above ? total / (double)above : level;
}

double
th_water_level(const double *demands, size_t count, double total)
{
	double level = count ? total / (double)count : total;
	bool is_above = true;

	/* The level only rises, and each time meets at least one more demand, or is final. */
	while (is_above) {
		double next = next_level(demands, count, total, level, &is_above);

		if (is_above && next <= level)
			return level;
		level = next;
	}
	return total;
}
