/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binomial probability of exactly a hits is computed as by Loader ("Fast and accurate
 * computation of binomial probabilities", 2000), which keeps full precision for any a and b;
 * the tail is that probability times a continued fraction (DLMF 8.17.22), evaluated by Lentz's
 * method. The normal quantile is Wichura's PPND7 (AS 241, Applied Statistics 1988).
 */
#include "report/statistics/distribution.h"

#include <math.h>

#define LN_SQRT_2PI 0.918938533204672741780
/* The fraction needs about sqrt(max(a, b)) terms: this is enough for 10^10 samples. */
#define FRACTION_TERMS_MAX 200000
#define FRACTION_PRECISION 1e-14

/* Confidence is kept away from 0 and 1, where the score is infinite. */
#define CONFIDENCE_MIN 1e-300
#define CONFIDENCE_MAX (1 - 0x1p-53)
/* Minimum number of hits for which the tie does not matter and the score has a closed form. */
#define MANY 2000
/* Scores closer to 0 would lose precision in that form. */
#define CENTRE 0.01

/* ln(x!) - Stirling's formula: (x + 1/2) ln x - x + ln sqrt(2 pi), for x > 0. */
static double
stirling_error(double x)
{
	double y = 1 / (x * x);
	int sign; /* always plus; lgamma() would write it to a global variable */

	if (x < 16)
		return lgamma_r(x + 1, &sign) - (x + 0.5) * log(x) + x - LN_SQRT_2PI;
	/* DLMF 5.11.1; the first omitted term is below 1e-15. */
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
th_distribution_misses(double a, double b, double p, double q, double tie)
{
	double density = binomial_density(a, b, p, q);

	return hits_at_least(a, b, p, q, density) - (1 - tie) * density;
}

static double
cubic(const double coefficients[4], double x)
{
	return ((coefficients[3] * x + coefficients[2]) * x + coefficients[1]) * x +
	       coefficients[0];
}

double
th_distribution_normal_quantile(double level)
{
	static const double a[] = {3.3871327179, 50.434271938, 159.29113202, 59.109374720};
	static const double b[] = {1, 17.895169469, 78.757757664, 67.187563600};
	static const double c[] = {1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103};
	static const double d[] = {1, 0.73700164250, 0.12021132975, 0};
	static const double e[] = {6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997};
	static const double f[] = {1, 0.24197894225, 0.012258202635, 0};
	double central = level - 0.5;
	double r;

	if (fabs(central) <= 0.425) {
		r = 0.180625 - central * central;
		return central * cubic(a, r) / cubic(b, r);
	}
	r = sqrt(-log(fmin(level, 1 - level)));
	r = r <= 5 ? cubic(c, r - 1.6) / cubic(d, r - 1.6) : cubic(e, r - 5) / cubic(f, r - 5);
	return copysign(r, central);
}

/*
 * r + ln(u/r)/r with r the signed root of the deviance and u the standardized log odds ratio,
 * after Barndorff-Nielsen (Biometrika 1986). The second term is small and smooth, and tends to
 * minus a sixth of the skewness as r tends to 0.
 */
static double
score_of_many(double a, double b, double p, double q)
{
	double n = a + b;
	double r = copysign(sqrt(2 * (deviance(a, n * p) + deviance(b, n * q))), n * p - a);
	double u = log(b * p / (a * q)) * sqrt(a * b / n);

	if (fabs(r) < CENTRE)
		return r - (q - p) / (6 * sqrt(n * p * q));
	return r + log(u / r) / r;
}

double
th_distribution_score(double a, double b, double p, double q, double tie)
{
	double confidence;

	if (a > MANY && b > MANY)
		return score_of_many(a, b, p, q);
	confidence = th_distribution_misses(a, b, p, q, tie);
	return th_distribution_normal_quantile(
		fmin(fmax(confidence, CONFIDENCE_MIN), CONFIDENCE_MAX));
}
