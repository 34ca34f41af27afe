/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/mean_interval.h"

#include <math.h>

/* Larger gaps are from damaged logs. */
#define LARGEST 0x1p64

void
th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double rare)
{
	double block = fmax((double)size, 1);
	double apart = interval > 0 ? (double)interval : block;
	double kept = keep > 0 && keep < 1 ? keep : 1;
	double gap, bytes;

	if (interval == 0 && kept == 1)
		return;
	gap = fmin(apart / (rare > kept ? fmin(rare, 1) : kept), LARGEST);
	/* The bytes that it represents, s/p, within a factor of 1.6. */
	bytes = fmin(fmax(block, apart) / kept, LARGEST);
	gaps->bytes += bytes;
	gaps->squares += bytes * gap * gap;
}

double
th_mean_interval_thin(const struct th_mean_interval *gaps)
{
	return gaps->bytes > 0 ? sqrt(gaps->squares / gaps->bytes) : 0;
}
