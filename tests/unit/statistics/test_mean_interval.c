/* SPDX-License-Identifier: Apache-2.0 */
/* The gap that represents all gaps at which a heap's bytes were allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/statistics/estimate.h"

#define INTERVAL ((uint64_t)512 * 1024)

static void
add(struct th_mean_interval *gaps, int count, uint64_t size, uint64_t interval, double keep)
{
	while (count-- > 0)
		th_mean_interval_add(gaps, size, interval, keep, keep);
}

static void
test_even_sampling_has_its_interval(void **state)
{
	static const uint64_t intervals[] = {1, 3, INTERVAL, INTERVAL * 1000003, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		struct th_mean_interval gaps = {0};

		add(&gaps, 3, 16, intervals[i], 1);
		add(&gaps, 1, (uint64_t)1 << 40, intervals[i], 1);
		assert_true(
			fabs(th_mean_interval_thin(&gaps) / (double)intervals[i] - 1) < 1e-12);
	}
}

static void
test_thinning_widens_the_gap(void **state)
{
	struct th_mean_interval gaps = {0};

	(void)state;
	add(&gaps, 10, 16, INTERVAL, 0.25);
	assert_true(fabs(th_mean_interval_thin(&gaps) / (4.0 * (double)INTERVAL) - 1) < 1e-12);
}

static void
assert_thin(const struct th_mean_interval *gaps, double square)
{
	double found = th_mean_interval_thin(gaps) / (double)INTERVAL;

	assert_true(fabs(found * found / square - 1) < 1e-9);
}

/* Weighted by bytes and not by samples: a sample of 16 intervals has the bytes of 16 of one. */
static void
test_bytes_count_and_not_samples(void **state)
{
	struct th_mean_interval gaps = {0};

	(void)state;
	add(&gaps, 16, 16, INTERVAL, 1);
	add(&gaps, 1, 16, 16 * INTERVAL, 1);
	assert_thin(&gaps, (1 + 256) / 2.0);
}

static void
test_large_blocks_bring_their_bytes(void **state)
{
	struct th_mean_interval gaps = {0};

	(void)state;
	add(&gaps, 64, 16, INTERVAL, 1);
	add(&gaps, 1, 64 * INTERVAL, 2 * INTERVAL, 1);
	assert_thin(&gaps, (1 + 4) / 2.0);
}

/* With interval 0 every allocation was recorded, unless it was thinned: then it counts blocks. */
static void
test_certain_samples_say_nothing(void **state)
{
	struct th_mean_interval gaps = {0};

	(void)state;
	assert_true(th_mean_interval_thin(&gaps) == 0);
	add(&gaps, 1000, 4096, 0, 1);
	assert_true(th_mean_interval_thin(&gaps) == 0);
	add(&gaps, 1, 1000, 0, 0.5);
	assert_true(th_mean_interval_thin(&gaps) == 2000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even_sampling_has_its_interval),
		cmocka_unit_test(test_thinning_widens_the_gap),
		cmocka_unit_test(test_bytes_count_and_not_samples),
		cmocka_unit_test(test_large_blocks_bring_their_bytes),
		cmocka_unit_test(test_certain_samples_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
