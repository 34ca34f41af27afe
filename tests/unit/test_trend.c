/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences of which it is plain whether they grow.  Times are seconds: warm-up until 2, later
 * half from 6, end at 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/trend.h"

static const struct th_horizon horizon = {
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

/* With one swap of neighbours: 9 or 10 pairs of 10, 1 + 4 orders of 120. */
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
	/* Equal values are no pairs in order. */
	assert_true(trend.probability > 0.8);
}

/* Where the later half has two, three before it are taken, but none of the warm-up. */
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

/*
 * The account of the end is taken soon after one that was due, before anything has changed: 9
 * pairs of 10 in order would be chance at 5 : 120.  Both are one moment, and one before is taken.
 */
static void
test_one_moment_is_one_point(void **state)
{
	const struct th_horizon fine = {
		.warm = 200, .middle = 600, .horizon = 1000, .end = 1000, .is_proven = true};
	const double values[] = {1, 2, 3, 4, 5, 6, 6};
	const uint64_t times[] = {300, 400, 500, 650, 800, 990, 1000};
	struct th_trend trend;

	(void)state;
	th_trend_init(&trend, &fine, times, values, 7);
	assert_int_equal(trend.points, 5);
	assert_true(fabs(trend.probability - 1 / 120.0) < 1e-12);
}

/* Any number of points is bounded, and the probability stays one. */
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
		cmocka_unit_test(test_one_moment_is_one_point),
		cmocka_unit_test(test_many_points),
	};

	return cmocka_run_group_tests_name("trend", tests, NULL, NULL);
}
