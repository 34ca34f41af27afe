/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram on a logarithmic scale; within a class gaps are as good as equal. */
#include "report/gaps.h"

#include <math.h>

/* Of the bytes, those that an interval may miss on one side. */
#define THINNER_PART 0.025
/* Gaps beyond come from damaged logs. */
#define LARGEST 0x1p64

static int
class_of(double gap)
{
	int exponent;
	double fraction = frexp(gap, &exponent); /* 1/2 <= fraction < 1 */
	int class = 8 * (exponent - 1) + (int)(16 * fraction) - 8;

	return class < TH_GAPS_CLASSES ? class : TH_GAPS_CLASSES - 1;
}

void
th_gaps_add(struct th_gaps *gaps, uint64_t size, uint64_t interval, double keep)
{
	double block = fmax((double)size, 1);
	double kept = keep > 0 && keep < 1 ? keep : 1;
	double gap, bytes;
	int class;

	if (interval == 0 && kept == 1)
		return;
	gap = fmin((interval > 0 ? (double)interval : block) / kept, LARGEST);
	class = class_of(gap);
	/* What it stands for, s/p, within a factor of 1.6. */
	bytes = fmax(fmin(block / kept, LARGEST), gap);
	gaps->all += bytes;
	gaps->bytes[class] += bytes;
	gaps->products[class] += bytes * gap;
}

double
th_gaps_thin(const struct th_gaps *gaps)
{
	double above = 0;

	for (int class = TH_GAPS_CLASSES - 1; class >= 0; class --) {
		above += gaps->bytes[class];
		if (above > THINNER_PART * gaps->all)
			return gaps->products[class] / gaps->bytes[class];
	}
	return 0;
}
