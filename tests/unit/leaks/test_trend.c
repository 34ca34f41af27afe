/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences with known trends. Times are seconds: warm-up until 2, later half from 6, end at
 * 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/leaks/trend.h"

static const struct th_observation_window horizon = {
	.warm = 2, .middle = 6, .horizon = 10, .end = 10, .old = 1, .is_proven = true};

static struct th_trend
trend_of(const double *values, size_t count, uint64_t first)
{
	struct th_trend trend;
	uint64_t times[256];

	for (size_t i = 0; i < count; i++)
		times[i] = first + i;
	th_trend_init(&trend, &horizon, times, values, count);
	return trend;
}

/* Five points in order: one of 5! = 120 orders. */
static void
test_steady_growth(void **state)
{
	const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct th_trend trend = trend_of(values, 10, 1);

	(void)state;
	/* At 5, the last before the middle, and 6 to 10. */
	assert_int_equal(trend.points, 6);
	assert_true(fabs(trend.probability - 1 / 720.0) < 1e-12);
	assert_true(fabs(trend.growth - 8) < 1e-9);
	assert_true(fabs(trend.growth_late - 4) < 1e-9);
	assert_true(fabs(trend.last_quarter - 2) < 1e-9);
	assert_int_equal(trend.last_rise, 10);
	assert_true(trend.lost == 0);
}

/* With one swap of neighbors: 9 or 10 pairs of 10, 1 + 4 orders of 120. */
static void
test_nearly_in_order(void **state)
{
	const double values[] = {1, 2, 4, 3, 5};
	struct th_trend trend = trend_of(values, 5, 6);

	(void)state;
	assert_int_equal(trend.points, 5);
	assert_true(fabs(trend.probability - 5 / 120.0) < 1e-12);
	assert_true(fabs(trend.lost - 1) < 1e-12);
}

static void
test_growth_that_ended(void **state)
{
	const double values[] = {0, 50, 100, 150, 200, 200, 200, 200, 200};
	struct th_trend trend = trend_of(values, 9, 2);

	(void)state;
	assert_int_equal(trend.last_rise, 6);
	assert_true(trend.growth_late == 0);
	/* Of 15 pairs 5 are in order, and 10 equal: 10 or more of 15 come in 169 orders of 720. */
	assert_true(fabs(trend.probability - 169 / 720.0) < 1e-12);
}

/* If the later half has two, earlier points are used too, but none of the warm-up. */
static void
test_few_points(void **state)
{
	const double values[] = {1, 2, 3, 4, 5, 6};
	const uint64_t times[] = {1, 3, 4, 5, 7, 10};
	const uint64_t early[] = {0, 1, 1, 1, 7, 10};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &horizon, times, values, 6);
	assert_int_equal(trend.points, 5);
	th_trend_init(&trend, &horizon, early, values, 6);
	assert_int_equal(trend.points, 3);
	th_trend_init(&trend, &horizon, NULL, NULL, 0);
	assert_int_equal(trend.points, 0);
	assert_true(trend.probability == 1);
}

/* All before the middle: what is not measured is no evidence of a standstill. */
static void
test_no_late_points(void **state)
{
	const double values[] = {1, 2, 3};
	struct th_trend trend = trend_of(values, 3, 3);

	(void)state;
	assert_true(trend.growth == 2);
	assert_true(trend.growth_late == 2);
}

/*
 * The final snapshot is taken soon after a scheduled one, before any change. Both count as one
 * point, and one earlier point is added.
 */
static void
test_one_moment_is_one_point(void **state)
{
	const struct th_observation_window fine = {
		.warm = 200, .middle = 600, .horizon = 1000, .end = 1000, .is_proven = true};
	const double values[] = {1, 2, 3, 4, 5, 6, 6};
	const uint64_t times[] = {300, 400, 500, 650, 800, 990, 1000};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &fine, times, values, 7);
	assert_int_equal(trend.points, 6);
	assert_true(fabs(trend.probability - 1 / 720.0) < 1e-12);
}

static const struct th_observation_window seventeen = {
	.warm = 348, .middle = 1044, .horizon = 1741, .end = 1741, .is_proven = true};

/* MB of DuckDB's resident chunks, hundredths of a second: the allocator purges at the end. */
static void
test_a_little_given_back_at_the_end(void **state)
{
	const uint64_t times[] = {394, 477, 576, 694, 837, 1008, 1217, 1466, 1665, 1723};
	const double values[] = {
		60.2, 108.7, 153.9, 225.2, 282.4, 369.2, 452.4, 591.7, 674.5, 672.6};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &seventeen, times, values, 10);
	assert_int_equal(trend.points, 6);
	/* 14 and a half of 15. */
	assert_true(fabs(trend.probability - 6 / 720.0) < 1e-12);
	assert_int_equal(trend.last_rise, 1665);
}

/* The same, moved between two owners: it fluctuates. */
static void
test_to_and_fro(void **state)
{
	const uint64_t times[] = {394, 477, 576, 694, 837, 1008, 1217, 1466, 1665, 1723};
	const double values[] = {
		39.5, 21.6, 216.4, 261.5, 313.5, 369.1, 18.5, 109.9, 106.1, 34.5};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &seventeen, times, values, 10);
	assert_true(trend.probability > 0.5);
	assert_true(trend.lost > trend.growth);
}

/*
 * It grew while the program started, was constant with a little noise in ascending order, and
 * jumps as the program ends.
 */
static void
test_a_leap_at_the_end(void **state)
{
	const uint64_t times[] = {394, 694, 1100, 1217, 1466, 1600, 1723};
	const double values[] = {100, 200, 400, 401, 402, 403, 500};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &seventeen, times, values, 7);
	assert_int_equal(trend.points, 6);
	/* 9 pairs, and 6 of equal values at one half: 12 of 15 occur in 49 orders of 720. */
	assert_true(fabs(trend.probability - 49 / 720.0) < 1e-12);
}

/* The number of points used is bounded, and the probability remains valid. */
static void
test_many_points(void **state)
{
	double values[256];
	struct th_trend trend;

	(void)state;
	for (size_t i = 0; i < 256; i++)
		values[i] = (double)((i * 37) % 256);
	trend = trend_of(values, 256, 6);
	assert_in_range(trend.points, 30, 60);
	assert_true(trend.probability > 0.05 && trend.probability < 0.95);
	for (size_t i = 0; i < 256; i++)
		values[i] = (double)i;
	assert_true(trend_of(values, 256, 6).probability < 1e-60);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_growth),
		cmocka_unit_test(test_nearly_in_order),
		cmocka_unit_test(test_growth_that_ended),
		cmocka_unit_test(test_few_points),
		cmocka_unit_test(test_no_late_points),
		cmocka_unit_test(test_one_moment_is_one_point),
		cmocka_unit_test(test_a_little_given_back_at_the_end),
		cmocka_unit_test(test_to_and_fro),
		cmocka_unit_test(test_a_leap_at_the_end),
		cmocka_unit_test(test_many_points),
	};

	return cmocka_run_group_tests_name("trend", tests, NULL, NULL);
}
