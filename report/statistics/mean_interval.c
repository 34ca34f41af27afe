/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/mean_interval.h"

#include <math.h>

/* Larger gaps are from damaged logs. */
#define LARGEST 0x1p64

/* Of numbers that are never NaN, unlike fmax() and fmin(), which are calls. */
static double
larger(double a, double b)
{
	return a > b ? a : b;
}

static double
smaller(double a, double b)
{
	return a < b ? a : b;
}

/* A probability from a damaged log counts as 1. */
static double
possible(double keep)
{
	return keep > 0 && keep < 1 ? keep : 1;
}

void
th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double unseen)
{
	double block = larger((double)size, 1);
	double kept = possible(keep);
	double distance = interval > 0 ? (double)interval : block;
	double gap, bytes;

	if (interval == 0 && kept == 1)
		return;
	gap = distance;
	/* The bytes that it represents, s/p, within a factor of 1.6. */
	bytes = larger(block, distance);
	if (kept < 1) {
		gap /= larger(possible(unseen), kept);
		bytes /= kept;
	}
	gap = smaller(gap, LARGEST);
	bytes = smaller(bytes, LARGEST);
	gaps->bytes += bytes;
	gaps->squares += bytes * gap * gap;
}

double
th_mean_interval_thin(const struct th_mean_interval *gaps)
{
	return gaps->bytes > 0 ? sqrt(gaps->squares / gaps->bytes) : 0;
}
