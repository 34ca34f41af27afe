/* SPDX-License-Identifier: Apache-2.0 */
/* The distributions behind the intervals, compared with direct sums and exact identities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/statistics/distribution.h"

/* P(hits > a) + tie P(hits = a) of a + b trials, term by term from hits = 0. */
static double
misses_by_summation(int a, int b, double p, double tie)
{
	int n = a + b;
	double term = pow(1 - p, n);
	double below = 0;

	for (int hits = 0; hits < a; hits++) {
		below += term;
		term *= (double)(n - hits) / (hits + 1) * p / (1 - p);
	}
	return 1 - below - (1 - tie) * term;
}

static void
test_misses_agree_with_summation(void **state)
{
	(void)state;
	for (int a = 0; a < 40; a += 3)
		for (int b = 0; b < 120; b += 7)
			for (double p = 0.003; p < 1; p += 0.0701) {
				double tie = (a + b) % 5 / 4.0;
				double expected = misses_by_summation(a, b, p, tie);
				double value = th_distribution_misses(a, b, p, 1 - p, tie);

				assert_true(fabs(value - expected) < 1e-12);
			}
}

/* Hits and misses are interchangeable: F(a, b, p, t) + F(b, a, q, 1-t) = 1. */
static void
test_misses_are_symmetric(void **state)
{
	static const double counts[] = {0, 0.3, 1, 7.5, 100, 1e4, 1e6};
	static const double odds[] = {1e-3, 0.9, 1, 1.02, 50};
	const size_t n = sizeof(counts) / sizeof(counts[0]);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			for (size_t j = 0; j < sizeof(odds) / sizeof(odds[0]); j++) {
				double a = counts[i], b = counts[k];
				double p = fmin((a + 0.1) / (a + b + 0.2) * odds[j], 0.999);
				double sum = th_distribution_misses(a, b, p, 1 - p, 0.3) +
					     th_distribution_misses(b, a, 1 - p, p, 0.7);

				assert_true(fabs(sum - 1) < 1e-9);
			}
}

/* For p -> 0 the misses are a Poisson mean over p; the two differ by about mean^2 p. */
static void
test_misses_become_poisson(void **state)
{
	static const double probabilities[] = {1e-5, 1e-7, 1e-9};

	(void)state;
	for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++) {
		double p = probabilities[i];
		/* No hit: 1 - exp(-mean). */
		double value = th_distribution_misses(0, log(40) / p, p, 1 - p, 0);

		assert_true(fabs(value - 0.975) < 10 * p + 1e-12);
		/* P(at most 10 | mean 16.962) = 0.05: half the chi-square quantile 33.924. */
		value = th_distribution_misses(10, 16.962 / p, p, 1 - p, 0);
		assert_true(fabs(value - 0.95) < 100 * p + 1e-5);
	}
}

/* Rising in the misses, at any scale: the root finding depends on it. */
static void
test_value_rises_with_misses(void **state)
{
	static const double hits[] = {0, 0.01, 1, 20, 1e5};
	static const double probabilities[] = {1e-9, 3e-5, 0.1, 0.632, 0.99966, 1 - 1e-12};

	(void)state;
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++)
		for (size_t k = 0; k < sizeof(probabilities) / sizeof(probabilities[0]); k++) {
			double p = probabilities[k];
			double before = -1;

			for (double b = 0; b < 10 * (hits[i] + 1) / p; b = b * 1.3 + 0.01) {
				double value = th_distribution_misses(
					hits[i], b, p, 1 - p, 0.5);

				assert_true(value >= before - 1e-12 && value <= 1);
				before = value;
			}
		}
}

static void
test_normal_quantile_inverts_erfc(void **state)
{
	(void)state;
	assert_true(th_distribution_normal_quantile(0.5) == 0);
	assert_true(fabs(th_distribution_normal_quantile(0.975) - 1.959963985) < 1e-6);
	/* Beyond 6 the level is too close to 1 to determine the quantile. */
	for (double z = -37; z < 6; z += 0.013) {
		double level = erfc(-z / sqrt(2)) / 2;
		double error = th_distribution_normal_quantile(level) - z;

		assert_true(fabs(error) < 5e-7 * fmax(fabs(z), 1));
	}
}

/*
 * The closed form for many hits agrees with the exact one where it takes over, the center
 * included.
 */
static void
test_score_of_many_agrees_with_exact(void **state)
{
	static const double probabilities[] = {1e-7, 1e-3, 0.3, 0.632, 0.9};
	static const double hits[] = {2001, 30000};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(probabilities) / sizeof(probabilities[0]); i++)
		for (double z = -3; z < 3; z += 0.00137) {
			double a = hits[i % 2], p = probabilities[i / 2], q = 1 - p;
			double b = a * q / p + z * sqrt(a * q) / p;
			double tie = 0.5 + 0.5 / (1 + a);
			double exact = th_distribution_normal_quantile(
				th_distribution_misses(a, b, p, q, tie));

			if (b > 2000)
				assert_true(fabs(th_distribution_score(a, b, p, q, tie) -
						    exact) < 2e-4);
		}
}

static void
test_score_is_finite_at_the_ends(void **state)
{
	(void)state;
	assert_true(th_distribution_score(50, 0, 1e-9, 1 - 1e-9, 0.5) < -30);
	assert_true(th_distribution_score(0, 1e15, 0.5, 0.5, 0.5) > 8);
	assert_true(isfinite(th_distribution_score(50, 0, 1e-9, 1 - 1e-9, 0.5)));
	assert_true(isfinite(th_distribution_score(0, 1e15, 0.5, 0.5, 0.5)));
	assert_true(isfinite(th_distribution_score(1e9, 1e15, 0.5, 0.5, 0.5)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_misses_agree_with_summation),
		cmocka_unit_test(test_misses_are_symmetric),
		cmocka_unit_test(test_misses_become_poisson),
		cmocka_unit_test(test_value_rises_with_misses),
		cmocka_unit_test(test_normal_quantile_inverts_erfc),
		cmocka_unit_test(test_score_of_many_agrees_with_exact),
		cmocka_unit_test(test_score_is_finite_at_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
