/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binomial probability of exactly a hits is computed as Loader does ("Fast and accurate
 * computation of binomial probabilities", 2000), which keeps its digits for any a and b; the
 * tail is that probability times a continued fraction (DLMF 8.17.22), evaluated by Lentz's
 * method.  Quantiles are found by bracketing and regula falsi (Illinois) on a logarithmic scale.
 */
#include "report/distribution.h"

#include <math.h>
#include <stddef.h>

#define LN_SQRT_2PI 0.918938533204672741780
/* The fraction needs about sqrt(max(a, b)) terms: enough for 10^10 samples. */
#define FRACTION_TERMS_MAX 200000
#define FRACTION_PRECISION 1e-14
/* Quantiles are sought in exp(-60) .. exp(60): beyond is nothing, or everything. */
#define LOGARITHM_MAX 60.0
#define QUANTILE_PRECISION 1e-10
#define QUANTILE_STEPS_MAX 200

/* ln(x!) - Stirling's formula: (x + 1/2) ln x - x + ln sqrt(2 pi), for x > 0. */
static double
stirling_error(double x)
{
	double y = 1 / (x * x);

	if (x < 16)
		return lgamma(x + 1) - (x + 0.5) * log(x) + x - LN_SQRT_2PI;
	/* DLMF 5.11.1; the first term left out is below 1e-15. */
	return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) /
	       x;
}

/* x ln(x/mean) + mean - x without cancellation where x is close to the mean. */
static double
deviance(double x, double mean)
{
	double v = (x - mean) / (x + mean);
	double sum, term;

	if (fabs(v) > 0.1)
		return x * log(x / mean) + mean - x;
	sum = (x - mean) * v;
	term = 2 * x * v;
	for (int i = 3; i < 31; i += 2) {
		term *= v * v;
		sum += term / i;
	}
	return sum;
}

/* P(hits = a) of a + b trials. */
static double
binomial_density(double a, double b, double p, double q)
{
	double n = a + b;

	if (n <= 0)
		return 1;
	if (a <= 0)
		return exp(b * (p < q ? log1p(-p) : log(q)));
	if (b <= 0)
		return exp(a * (q < p ? log1p(-q) : log(p)));
	return exp(stirling_error(n) - stirling_error(a) - stirling_error(b) -
		       deviance(a, n * p) - deviance(b, n * q)) *
	       sqrt(n / (a * b)) * exp(-LN_SQRT_2PI);
}

/* A term of a continued fraction must not vanish. */
static double
nonzero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* a B(a, b) I_x(a, b) / (x^a (1-x)^b): converges fast for x < (a+1)/(a+b+2). */
static double
beta_fraction(double a, double b, double x)
{
	double c = 1;
	double d = 1 / nonzero(1 - (a + b) * x / (a + 1));
	double result = d;

	for (int i = 1; i < FRACTION_TERMS_MAX; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		double step;

		d = 1 / nonzero(1 + even * d);
		c = nonzero(1 + even / c);
		result *= c * d;
		d = 1 / nonzero(1 + odd * d);
		c = nonzero(1 + odd / c);
		step = c * d;
		result *= step;
		if (fabs(step - 1) < FRACTION_PRECISION)
			break;
	}
	return result;
}

/* I_p(a, b+1), given the density at a. */
static double
hits_at_least(double a, double b, double p, double q, double density)
{
	if (a <= 0)
		return 1;
	if (p * (a + b + 3) < a + 1)
		return density * q * beta_fraction(a, b + 1, p);
	return 1 - density * q * a / (b + 1) * beta_fraction(b + 1, a, q);
}

double
th_distribution_mid(double a, double b, double p, double q)
{
	double density = binomial_density(a, b, p, q);

	return hits_at_least(a, b, p, q, density) - density / 2;
}

/* F - level as a function of ln b. */
struct curve {
	double a, p, q;
	double level;
};

static double
value_at(const struct curve *curve, double logarithm)
{
	return th_distribution_mid(curve->a, exp(logarithm), curve->p, curve->q) - curve->level;
}

/* Narrows a bracket with value(low) < 0 <= value(high). */
static double
find_root(const struct curve *curve, double low, double high, double at_low, double at_high)
{
	int side = 0;

	for (int i = 0; i < QUANTILE_STEPS_MAX && high - low > QUANTILE_PRECISION; i++) {
		double middle = low + (high - low) * at_low / (at_low - at_high);
		double value = value_at(curve, middle);

		if (fabs(value) < QUANTILE_PRECISION)
			return middle;
		if (value < 0) {
			low = middle;
			at_low = value;
			at_high = side < 0 ? at_high / 2 : at_high;
			side = -1;
		} else {
			high = middle;
			at_high = value;
			at_low = side > 0 ? at_low / 2 : at_low;
			side = 1;
		}
	}
	return (low + high) / 2;
}

/* exp of the root of the curve, which increases; 0 if it is positive everywhere. */
static double
find_quantile(const struct curve *curve, double guess, double step)
{
	double low = fmax(guess - step, -LOGARITHM_MAX);
	double high = fmin(guess + step, LOGARITHM_MAX);
	double at_low = value_at(curve, low);
	double at_high = value_at(curve, high);

	for (; at_low >= 0; step *= 2) {
		if (low <= -LOGARITHM_MAX)
			return 0;
		high = low;
		at_high = at_low;
		low = fmax(low - step, -LOGARITHM_MAX);
		at_low = value_at(curve, low);
	}
	for (; at_high < 0; step *= 2) {
		if (high >= LOGARITHM_MAX)
			return HUGE_VAL;
		low = high;
		at_low = at_high;
		high = fmin(high + step, LOGARITHM_MAX);
		at_high = value_at(curve, high);
	}
	return exp(find_root(curve, low, high, at_low, at_high));
}

double
th_distribution_misses(double a, double p, double q, double level)
{
	struct curve curve = {.a = a, .p = p, .q = q, .level = level};

	return find_quantile(&curve, log((a + 0.5) * q / p), 2 / sqrt(a + 1));
}
