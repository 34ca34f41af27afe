/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/process_mean.h"

#include <math.h>

#include "report/statistics/distribution.h"

void
th_process_sums_add(struct th_process_sums *sums, double value)
{
	double distance = value - sums->mean;

	sums->count++;
	sums->mean += distance / (double)sums->count;
	sums->squares += distance * (value - sums->mean);
}

void
th_process_sums_add_zeros(struct th_process_sums *sums, uint64_t count)
{
	double all = (double)(sums->count + count);

	if (!count)
		return;
	/* Two sets of one distance: Chan, Golub and LeVeque, 1983. */
	sums->squares += sums->mean * sums->mean * (double)sums->count * (double)count / all;
	sums->mean *= (double)sums->count / all;
	sums->count += count;
}

/* Hill's expansion for the centre, given y of the caller. */
static double
near_centre(double miss, double freedom, double a, double b, double c, double d)
{
	double x = th_distribution_normal_quantile(miss / 2);
	double y = x * x;

	if (freedom < 5)
		c += 0.3 * (freedom - 4.5) * (x + 0.6);
	c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
	y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
	return expm1(a * y * y);
}

double
th_student_quantile(double miss, double freedom)
{
	if (freedom < 2)
		return 1 / tan(miss * M_PI_2);
	if (freedom < 3)
		return sqrt(2 / (miss * (2 - miss)) - 2);
	double a = 1 / (freedom - 0.5);
	double b = 48 / (a * a);
	double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
	double d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * M_PI_2) * freedom;
	double y = pow(d * miss, 2 / freedom);

	if (y > 0.05 + a)
		y = near_centre(miss, freedom, a, b, c, d);
	else
		y = ((1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) *
				  3) +
			     0.5 / (freedom + 4)) *
				    y -
			    1) *
			    (freedom + 1) / (freedom + 2) +
		    1 / y;
	return sqrt(freedom * y);
}

/* The variance of the mean; infinite without two processes. */
static double
variance_of_mean(const struct th_process_sums *sums)
{
	double count = (double)sums->count;

	return sums->count > 1 ? sums->squares / (count - 1) / count : INFINITY;
}

struct th_estimate
th_process_mean(const struct th_process_sums *sums, double miss)
{
	double half = INFINITY;

	if (sums->count > 1)
		half = th_student_quantile(miss, (double)sums->count - 1) *
		       sqrt(variance_of_mean(sums));
	return (struct th_estimate){
		.estimate = sums->mean,
		.low = sums->mean - half,
		.high = sums->mean + half,
		.samples = sums->count,
	};
}

struct th_estimate
th_process_difference(const struct th_process_sums *old_sums,
	const struct th_process_sums *new_sums, double miss)
{
	double variances[] = {variance_of_mean(old_sums), variance_of_mean(new_sums)};
	double sum = variances[0] + variances[1];
	double change = new_sums->mean - old_sums->mean;
	double half = sum;

	if (isfinite(sum) && sum > 0) {
		double freedom = sum * sum /
				 (variances[0] * variances[0] / ((double)old_sums->count - 1) +
					 variances[1] * variances[1] /
						 ((double)new_sums->count - 1));

		half = th_student_quantile(miss, freedom) * sqrt(sum);
	}
	return (struct th_estimate){
		.estimate = change,
		.low = change - half,
		.high = change + half,
		.samples = old_sums->count + new_sums->count,
	};
}
