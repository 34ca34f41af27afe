/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means over processes: the quantiles against tables, the sums against their definition, and the
 * coverage of the intervals for known distributions over processes. Seeds are fixed;
 * docs/statistics.md has the figures that `test_process_mean VERBOSE` prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "report/statistics/process_mean.h"

#define TRIALS 4000

static bool is_verbose;
static uint64_t seed;

/* SplitMix64, in (0, 1). */
static double
uniform(void)
{
	uint64_t x = seed += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return ((double)((x ^ x >> 31) >> 11) + 0.5) / 0x1p53;
}

static double
normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double
poisson(double mean)
{
	double count = -1;

	for (double left = mean; left > 0; count++)
		left += log(uniform());
	return count;
}

/* One process of each kind; the true mean is 1 each time. */
static double
draw_normal(void)
{
	return 1 + 0.5 * normal();
}

/*
 * A rate that differs between processes (a gamma distribution with coefficient of variation 0.5),
 * of which about 20 samples are seen.
 */
static double
draw_sampled(void)
{
	double rate = 0;

	for (int i = 0; i < 4; i++)
		rate -= log(uniform()) / 4;
	return poisson(20 * rate) / 20;
}

/* Of ten processes one leaks. */
static double
draw_few(void)
{
	return uniform() < 0.1 ? 10 + normal() : 0;
}

static double
coverage(double (*draw)(void), int processes)
{
	int covered = 0;

	seed = 1;
	for (int i = 0; i < TRIALS; i++) {
		struct th_process_sums sums = {0};

		for (int k = 0; k < processes; k++)
			th_process_sums_add(&sums, draw());
		struct th_estimate mean = th_process_mean(&sums, 0.05);
		covered += mean.low <= 1 && 1 <= mean.high;
	}
	if (is_verbose)
		printf("%2d processes: %.3f\n", processes, (double)covered / TRIALS);
	return (double)covered / TRIALS;
}

/* Tables of Student's distribution: two-sided 5 % and 0.1 %. */
static void
test_quantiles(void **state)
{
	static const double table[][3] = {{1, 12.706, 636.62}, {2, 4.3027, 31.599},
		{3, 3.1824, 12.924}, {4, 2.7764, 8.6103}, {5, 2.5706, 6.8688},
		{9, 2.2622, 4.7809}, {30, 2.0423, 3.6460}, {120, 1.9799, 3.3735},
		{1e6, 1.9600, 3.2905}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double at_5 = th_student_quantile(0.05, table[i][0]);
		double at_01 = th_student_quantile(0.001, table[i][0]);

		assert_true(fabs(at_5 / table[i][1] - 1) < 2e-4);
		assert_true(fabs(at_01 / table[i][2] - 1) < 2e-4);
	}
	/* Between 2 and 3 the wider one is used. */
	assert_true(th_student_quantile(0.05, 2.9) == th_student_quantile(0.05, 2));
}

/* 3, 5, 10 and two zeros: mean 3.6, squared distances 0.36 + 1.96 + 40.96 + 2 * 12.96. */
static void
test_sums(void **state)
{
	struct th_process_sums sums = {0};

	(void)state;
	th_process_sums_add_zeros(&sums, 0);
	th_process_sums_add(&sums, 3);
	th_process_sums_add(&sums, 5);
	th_process_sums_add(&sums, 10);
	th_process_sums_add_zeros(&sums, 2);
	assert_int_equal(sums.count, 5);
	assert_float_equal(sums.mean, 3.6, 1e-12);
	assert_float_equal(sums.squares, 69.2, 1e-12);
	struct th_estimate mean = th_process_mean(&sums, 0.05);
	/* 2.7764 sqrt(69.2 / 4 / 5) */
	assert_float_equal(mean.high - mean.estimate, 5.1644, 1e-3);
	assert_int_equal(mean.samples, 5);
}

/* One process has no variance, two equal ones have none either. */
static void
test_few_processes(void **state)
{
	struct th_process_sums one = {0}, two = {0}, none = {0};

	(void)state;
	th_process_sums_add(&one, 7);
	th_process_sums_add(&two, 7);
	th_process_sums_add(&two, 7);
	assert_true(isinf(th_process_mean(&none, 0.05).low));
	assert_true(isinf(th_process_mean(&one, 0.05).high));
	assert_true(th_process_mean(&one, 0.05).estimate == 7);
	assert_true(th_process_mean(&two, 0.05).low == 7);
	assert_true(isinf(th_process_difference(&one, &two, 0.05).low));
	assert_true(th_process_difference(&two, &two, 0.05).high == 0);
}

/* Each within 4 standard deviations of 4,000 trials: 4 sqrt(0.95 * 0.05 / 4000) = 0.0138. */
static void
test_coverage_of_normal_processes(void **state)
{
	static const int counts[] = {2, 3, 5, 20};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_true(fabs(coverage(draw_normal, counts[i]) - 0.95) < 0.0138);
}

/* Skewed, so that small groups are covered a little less often: not below 92 %. */
static void
test_coverage_of_sampled_processes(void **state)
{
	static const int counts[] = {3, 5, 10, 50};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_true(coverage(draw_sampled, counts[i]) > 0.92);
}

/*
 * A mean that few processes make up is covered less: of 10 processes none leaks in 35 % of the
 * cases (0.9^10), which no interval of these ten can show.
 */
static void
test_coverage_if_few_leak(void **state)
{
	(void)state;
	assert_true(coverage(draw_few, 10) < 0.70);
	assert_true(coverage(draw_few, 50) > 0.80);
	assert_true(coverage(draw_few, 200) > 0.92);
}

/* Groups of 4 and 20 processes, the spread of the larger one five times that of the other. */
static void
test_coverage_of_a_difference(void **state)
{
	int covered = 0;

	(void)state;
	seed = 2;
	for (int i = 0; i < TRIALS; i++) {
		struct th_process_sums groups[2] = {{0}, {0}};

		for (int k = 0; k < 4; k++)
			th_process_sums_add(&groups[0], 3 + normal());
		for (int k = 0; k < 20; k++)
			th_process_sums_add(&groups[1], 5 + 5 * normal());
		struct th_estimate change = th_process_difference(&groups[0], &groups[1], 0.05);
		covered += change.low <= 2 && 2 <= change.high;
	}
	if (is_verbose)
		printf("difference: %.3f\n", (double)covered / TRIALS);
	assert_true(fabs((double)covered / TRIALS - 0.95) < 0.0138);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_few_processes),
		cmocka_unit_test(test_coverage_of_normal_processes),
		cmocka_unit_test(test_coverage_of_sampled_processes),
		cmocka_unit_test(test_coverage_if_few_leak),
		cmocka_unit_test(test_coverage_of_a_difference),
	};

	(void)argv;
	is_verbose = argc > 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
