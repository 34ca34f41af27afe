/* SPDX-License-Identifier: Apache-2.0 */
/* Exact properties of estimates. Coverage is tested by test_coverage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/statistics/estimate.h"
#include "tests/unit/sample/probability.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define INTERVAL (512 * KIB)

static const uint64_t sizes[] = {0, 1, 16, 200, 4096, 64 * KIB, 512 * KIB, 4 * MIB, 64 * MIB,
	(uint64_t)1 << 40, UINT64_MAX};

static struct th_estimator
sum_of(uint64_t count, uint64_t size, uint64_t interval, double keep, double factor)
{
	struct th_estimator sum = {0};

	for (uint64_t i = 0; i < count; i++)
		th_estimator_add(&sum, size, interval, keep, factor);
	return sum;
}

static void
assert_near(double value, double expected, double relative)
{
	if (!(fabs(value - expected) <= relative * fabs(expected) + 1e-300))
		fail_msg("%.17g is not %.17g", value, expected);
}

static void
assert_sane(const struct th_estimate *estimate, double seen)
{
	assert_true(estimate->low >= seen * (1 - 1e-12));
	assert_true(estimate->low <= estimate->estimate);
	assert_true(estimate->estimate <= estimate->high);
	assert_true(isfinite(estimate->high));
}

/* A sample represents 1/p blocks of its size; p is that of the sampler. */
static void
test_weight_is_inverse_probability(void **state)
{
	(void)state;
	for (size_t i = 1; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double p = 0.25 * sampling_probability(sizes[i], INTERVAL);
		struct th_estimator sum = sum_of(3, sizes[i], INTERVAL, 0.25, 1);
		struct th_estimate bytes = th_estimate_bytes(&sum, NULL, INTERVAL);
		struct th_estimate objects = th_estimate_objects(&sum, NULL, INTERVAL);

		assert_near(bytes.estimate, 3 * (double)sizes[i] / p, 1e-12);
		assert_near(objects.estimate, 3 / p, 1e-12);
		assert_int_equal(bytes.samples, 3);
		assert_false(bytes.exact);
	}
}

/* With interval 0 everything was recorded, blocks of no bytes too: counted, not estimated. */
static void
test_everything_recorded_is_exact(void **state)
{
	struct th_estimator sum = sum_of(7, 100, 0, 1, 1);
	struct th_estimator nothing = {0};
	struct th_estimate bytes, objects, zero;

	(void)state;
	th_estimator_add(&sum, 0, 0, 1, 1);
	bytes = th_estimate_bytes(&sum, NULL, 0);
	objects = th_estimate_objects(&sum, NULL, 0);
	zero = th_estimate_bytes(&nothing, NULL, 0);
	assert_true(bytes.exact && objects.exact && zero.exact);
	assert_true(bytes.low == 700 && bytes.estimate == 700 && bytes.high == 700);
	assert_true(objects.low == 8 && objects.estimate == 8 && objects.high == 8);
	assert_true(zero.high == 0);
}

/*
 * y bytes stay unseen with probability exp(-y/N), whatever the sizes of the blocks; the upper
 * limit is where that is 0.025: N ln 40.
 */
static void
test_no_sample_has_an_upper_bound(void **state)
{
	struct th_estimator nothing = {0};
	struct th_estimate bytes = th_estimate_bytes(&nothing, NULL, INTERVAL);
	struct th_estimate objects = th_estimate_objects(&nothing, NULL, INTERVAL);

	(void)state;
	assert_true(bytes.low == 0 && bytes.estimate == 0);
	assert_near(bytes.high, INTERVAL * log(40), 1e-6);
	assert_true(objects.low == 0 && objects.estimate == 0);
	assert_near(objects.high, INTERVAL * log(40) / 16, 1e-6);
}

/*
 * Light samples of a heap that was sampled sparsely most of the time: an additional sample may
 * have been heavy. The limit is above that of the samples alone, and at most that plus a thin
 * gap; the lower one does not change.
 */
static void
test_thin_moments_raise_the_upper_limit(void **state)
{
	static const double gaps[] = {1, 2, 8, 64, 1024};
	static const uint64_t counts[] = {1, 5, 30, 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct th_estimator sum = sum_of(counts[i], 4096, INTERVAL, 1, 1);
		struct th_estimate even = th_estimate_bytes(&sum, NULL, INTERVAL);
		double last = even.high;

		for (size_t k = 0; k < sizeof(gaps) / sizeof(gaps[0]); k++) {
			double gap = gaps[k] * INTERVAL;
			struct th_estimate bytes = th_estimate_bytes(&sum, NULL, gap);

			assert_true(bytes.estimate == even.estimate && bytes.low == even.low);
			assert_true(bytes.high >= last);
			assert_true(bytes.high <= 1.02 * even.high + gap * log(40));
			last = bytes.high;
		}
		assert_true(last >= even.high + 2 * 1024.0 * INTERVAL);
	}
}

/*
 * In a share, the rest of the whole may have had the heavy ones: that lowers the lower limit.
 */
static void
test_thin_moments_of_the_rest_lower_the_lower_limit(void **state)
{
	struct th_estimator share = sum_of(40, 4096, INTERVAL, 1, 1);
	struct th_estimator whole = sum_of(43, 4096, INTERVAL, 1, 1);
	struct th_estimate even = th_estimate_bytes(&share, &whole, INTERVAL);
	struct th_estimate thin = th_estimate_bytes(&share, &whole, 16.0 * INTERVAL);

	(void)state;
	assert_true(thin.low < even.low);
	assert_true(thin.high >= even.high);
}

/*
 * Weight in the tail of the probability of the observed number, see
 * report/statistics/interval.c.
 */
static double
tail_weight(int hits)
{
	return 0.5 + 0.5 / (1 + hits);
}

/* P(count < hits) + weight P(count = hits) for a Poisson count, term by term. */
static double
poisson_tail(int hits, double mean, double weight)
{
	double term = exp(-mean);
	double sum = 0;

	for (int i = 0; i < hits; i++) {
		sum += term;
		term *= mean / (i + 1);
	}
	return sum + weight * term;
}

/*
 * Small blocks: the limits leave 2.5 % of a Poisson count on either side. With the largest
 * interval the hit probability is lost to rounding beside 1, which must not matter.
 */
static void
test_small_blocks_have_poisson_limits(void **state)
{
	static const int counts[] = {1, 2, 5, 20, 100};
	static const uint64_t intervals[] = {INTERVAL * (uint64_t)1024, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++) {
		int count = counts[i / 2];
		uint64_t interval = intervals[i % 2];
		struct th_estimator sum = sum_of((uint64_t)count, 64, interval, 1, 1);
		struct th_estimate bytes = th_estimate_bytes(&sum, NULL, (double)interval);
		double weight = tail_weight(count);
		double low = poisson_tail(count, bytes.low / (double)interval, 1 - weight);
		double high = poisson_tail(count, bytes.high / (double)interval, weight);

		assert_near(1 - low, 0.025, 1e-4);
		assert_near(high, 0.025, 1e-4);
	}
}

/* P(count < hits) + weight P(count = hits) for a binomial count, term by term. */
static double
binomial_tail(int hits, int blocks, double p, double weight)
{
	double term = pow(1 - p, blocks);
	double sum = 0;

	for (int i = 0; i < hits; i++) {
		sum += term;
		term *= (double)(blocks - i) / (i + 1) * p / (1 - p);
	}
	return sum + weight * term;
}

/* Large blocks: a number of them is inside exactly if neither binomial tail rejects it. */
static void
test_large_blocks_have_binomial_limits(void **state)
{
	static const uint64_t large[] = {512 * KIB, MIB, 2 * MIB, 4 * MIB};

	(void)state;
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		for (int hits = 1; hits < 40; hits += 3) {
			double p = sampling_probability(large[i], INTERVAL);
			double weight = tail_weight(hits);
			struct th_estimator sum = sum_of(
				(uint64_t)hits, large[i], INTERVAL, 1, 1);
			struct th_estimate bytes = th_estimate_bytes(&sum, NULL, INTERVAL);

			for (int blocks = hits; blocks < 4 * hits + 10; blocks++) {
				double few = binomial_tail(hits, blocks, p, weight);
				double many = 1 - binomial_tail(hits, blocks, p, 1 - weight);
				double value = (double)blocks * (double)large[i];

				assert_true(fabs(few - 0.025) > 1e-5);
				assert_true(fabs(many - 0.025) > 1e-5);
				assert_int_equal(value > bytes.high, few < 0.025);
				assert_int_equal(value < bytes.low, many < 0.025);
			}
		}
}

static void
test_estimates_are_sane_for_every_size(void **state)
{
	static const uint64_t counts[] = {0, 1, 3, 1000};
	static const double keeps[] = {1, 0.5, 1e-4};
	const size_t n = sizeof(sizes) / sizeof(sizes[0]);

	(void)state;
	for (size_t i = 0; i < n * n * 4 * 3; i++) {
		uint64_t size = sizes[i % n];
		uint64_t other = sizes[i / n % n];
		uint64_t count = counts[i / n / n % 4];
		double keep = keeps[i / n / n / 4];
		struct th_estimator part = sum_of(count, size, INTERVAL, keep, 1.5);
		struct th_estimator whole = sum_of(2, other, INTERVAL, 1, 0.5);
		struct th_estimate alone = th_estimate_bytes(&part, NULL, INTERVAL);
		struct th_estimate objects = th_estimate_objects(&part, NULL, INTERVAL);
		struct th_estimate share, share_objects;

		th_estimator_merge(&whole, &part);
		share = th_estimate_bytes(&part, &whole, INTERVAL);
		share_objects = th_estimate_objects(&part, &whole, INTERVAL);
		assert_sane(&alone, (double)count * (double)size);
		assert_sane(&share, (double)count * (double)size);
		assert_sane(&objects, (double)count);
		assert_sane(&share_objects, (double)count);
	}
}

static void
test_damaged_samples_do_no_harm(void **state)
{
	static const double keeps[] = {0, -1, 2, NAN, INFINITY};

	(void)state;
	for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
		struct th_estimator sum = sum_of(5, 64, INTERVAL, keeps[i], 1);
		struct th_estimate bytes = th_estimate_bytes(&sum, NULL, INTERVAL);

		assert_sane(&bytes, 5 * 64);
	}
}

static void
test_merge_adds_and_subtract_takes_away(void **state)
{
	struct th_estimator small = sum_of(30, 64, INTERVAL, 1, 1);
	struct th_estimator large = sum_of(12, MIB, INTERVAL, 0.5, 1);
	struct th_estimator both = small;
	struct th_estimate merged, expected, left;

	(void)state;
	th_estimator_merge(&both, &large);
	for (int i = 0; i < 12; i++)
		th_estimator_add(&small, MIB, INTERVAL, 0.5, 1);
	merged = th_estimate_bytes(&both, NULL, INTERVAL);
	expected = th_estimate_bytes(&small, NULL, INTERVAL);
	assert_near(merged.estimate, expected.estimate, 1e-12);
	assert_near(merged.low, expected.low, 1e-9);
	assert_near(merged.high, expected.high, 1e-9);
	assert_int_equal(merged.samples, 42);

	small = sum_of(30, 64, INTERVAL, 1, 1);
	th_estimator_subtract(&both, &small);
	left = th_estimate_bytes(&both, NULL, INTERVAL);
	expected = th_estimate_bytes(&large, NULL, INTERVAL);
	assert_near(left.estimate, expected.estimate, 1e-9);
	assert_near(left.high, expected.high, 1e-6);
	th_estimator_subtract(&both, &large);
	left = th_estimate_bytes(&both, NULL, INTERVAL);
	assert_true(left.estimate == 0 && left.samples == 0);
	assert_true(left.high > INTERVAL);
}

/* Rounding errors of freed blocks must not count as samples of some odd size. */
static void
test_rounding_is_not_a_sample(void **state)
{
	struct th_estimator whole = sum_of(1000, 200, INTERVAL, 1, 1.0 / 3);
	struct th_estimator share = whole;
	struct th_estimator certain = sum_of(1, 64 * MIB, INTERVAL, 1, 1);
	struct th_estimate bytes;

	(void)state;
	th_estimator_merge(&whole, &certain);
	bytes = th_estimate_bytes(&share, &whole, INTERVAL);
	assert_sane(&bytes, 1000 * 200);
	assert_near(bytes.high, bytes.estimate, 1e-6);
	/* The rest might have unseen small blocks: at most three intervals of them. */
	assert_near(bytes.estimate - bytes.low, INTERVAL * log(40), 0.05);
}

/* A rest that is nearly certain: the remaining uncertainty is rounding, and must be ignored. */
static void
test_rounding_is_no_uncertainty(void **state)
{
	const struct th_estimator share = sum_of(1000, 200, INTERVAL, 1, 1.0 / 3);

	(void)state;
	for (uint64_t intervals = 12; intervals < 48; intervals++) {
		struct th_estimator whole = share;
		struct th_estimator rest = sum_of(1, intervals * INTERVAL, INTERVAL, 1, 1);

		th_estimator_merge(&whole, &rest);
		struct th_estimate bytes = th_estimate_bytes(&share, &whole, INTERVAL);
		assert_near(bytes.estimate - bytes.low, INTERVAL * log(40), 0.05);
	}
}

/* The factor makes the sum of the weights equal the exact total. */
static void
test_factor_makes_the_whole_exact(void **state)
{
	struct th_estimator total = sum_of(40, 64, INTERVAL, 1, 1);
	struct th_estimator whole = {0};
	struct th_estimator large = sum_of(10, MIB, INTERVAL, 1, 1);
	const double exact = 35e6;
	double factor;

	(void)state;
	th_estimator_merge(&total, &large);
	factor = exact_factor(&total, exact);
	for (int i = 0; i < 40; i++)
		th_estimator_add(&whole, 64, INTERVAL, 1, factor);
	for (int i = 0; i < 10; i++)
		th_estimator_add(&whole, MIB, INTERVAL, 1, factor);
	assert_near(th_estimate_bytes(&whole, NULL, INTERVAL).estimate, exact, 1e-12);
	assert_true(factor > 1.05);
}

/* A share and the rest make up the whole, so their intervals are mirror images. */
static void
test_share_and_rest_mirror_each_other(void **state)
{
	(void)state;
	for (uint64_t count = 0; count <= 60; count += 6) {
		struct th_estimator share = sum_of(count, 64, INTERVAL, 1, 1);
		struct th_estimator rest = sum_of(60 - count, 4096, INTERVAL, 1, 1);
		struct th_estimator whole = share;
		struct th_estimate a, b;
		double total;

		th_estimator_merge(&whole, &rest);
		a = th_estimate_bytes(&share, &whole, INTERVAL);
		b = th_estimate_bytes(&rest, &whole, INTERVAL);
		total = a.estimate + b.estimate;
		/*
		 * The seen part of one is not available to the other; with no sample there is
		 * none.
		 */
		assert_true(fabs(a.low + b.high - total) < 1e-3 * total);
		assert_true(fabs(a.high + b.low - total) < 1e-3 * total);
	}
}

/*
 * The ratio estimator for many samples of small blocks: k of n samples belong to the share, and
 * its standard error is n N sqrt(r (1-r) / n) with r = k/n. With a known total a half is
 * narrower than the share alone by sqrt(1-r).
 */
static void
test_large_share_is_narrower_than_alone(void **state)
{
	struct th_estimator share = sum_of(7500, 64, INTERVAL, 1, 1);
	struct th_estimator rest = sum_of(2500, 64, INTERVAL, 1, 1);
	struct th_estimator whole = share;
	struct th_estimate alone, calibrated;
	const double error = 10000.0 * INTERVAL * sqrt(0.75 * 0.25 / 10000);

	(void)state;
	th_estimator_merge(&whole, &rest);
	alone = th_estimate_bytes(&share, NULL, INTERVAL);
	calibrated = th_estimate_bytes(&share, &whole, INTERVAL);
	assert_near(calibrated.high - calibrated.low, 2 * 1.959964 * error, 0.01);
	assert_near((calibrated.high - calibrated.low) / (alone.high - alone.low), 0.5, 0.01);
}

/*
 * All samples belong to the share: it may be everything, and it may lack what a rest without a
 * sample can have, N ln 40. Objects of one size follow the bytes.
 */
static void
test_share_with_all_samples(void **state)
{
	struct th_estimator whole = sum_of(200, 64, INTERVAL, 1, 1);
	struct th_estimate bytes = th_estimate_bytes(&whole, &whole, INTERVAL);
	struct th_estimate objects = th_estimate_objects(&whole, &whole, INTERVAL);

	(void)state;
	assert_true(bytes.high == bytes.estimate);
	assert_near(bytes.estimate - bytes.low, INTERVAL * log(40), 1e-3);
	assert_near(objects.estimate * 64, bytes.estimate, 1e-9);
	assert_near((objects.estimate - objects.low) * 64, bytes.estimate - bytes.low, 1e-3);
}

static void
test_sum_difference_and_widening(void **state)
{
	const struct th_estimate a = {.estimate = 100, .low = 70, .high = 150, .samples = 9};
	const struct th_estimate b = {.estimate = 60, .low = 20, .high = 180, .samples = 4};
	const struct th_estimate counted = th_estimate_exact(10, 3);
	struct th_estimate result;

	(void)state;
	result = th_estimate_sum(&a, &b); /* 160 - |30, 40|, 160 + |50, 120| */
	assert_true(result.estimate == 160 && result.low == 110 && result.high == 290);
	assert_int_equal(result.samples, 13);
	result = th_estimate_difference(&b, &a); /* -40 - |40, 50|, -40 + |120, 30| */
	assert_near(result.low, -40 - hypot(40, 50), 1e-12);
	assert_near(result.high, -40 + hypot(120, 30), 1e-12);
	result = th_estimate_sum(&counted, &counted);
	assert_true(result.exact && result.low == 20 && result.high == 20);
	result = th_estimate_difference(&a, &counted);
	assert_true(!result.exact && result.low == 60 && result.high == 140);
	result = th_estimate_widen(&a, 0.4); /* 100 - |30, 40|, 100 + |50, 40| */
	assert_true(result.low == 50);
	assert_near(result.high, 100 + hypot(50, 40), 1e-12);
	result = th_estimate_widen(&b, 0.9); /* 60 - |40, 54| < 0: no bytes are negative */
	assert_true(result.low == 0);
	assert_true(th_estimate_widen(&counted, 0).exact);
	assert_false(th_estimate_widen(&counted, 0.1).exact);
}

static void
test_interval_as_text(void **state)
{
	struct th_estimate estimate = {.estimate = 5000, .low = 2048, .high = 1024 * 1024};

	(void)state;
	assert_string_equal(
		th_estimate_interval(&estimate, TH_UNIT_BYTES).text, "0.00 .. 1.00 MiB");
	estimate.exact = true;
	assert_string_equal(th_estimate_interval(&estimate, TH_UNIT_BYTES).text, "exact");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weight_is_inverse_probability),
		cmocka_unit_test(test_everything_recorded_is_exact),
		cmocka_unit_test(test_no_sample_has_an_upper_bound),
		cmocka_unit_test(test_thin_moments_raise_the_upper_limit),
		cmocka_unit_test(test_thin_moments_of_the_rest_lower_the_lower_limit),
		cmocka_unit_test(test_small_blocks_have_poisson_limits),
		cmocka_unit_test(test_large_blocks_have_binomial_limits),
		cmocka_unit_test(test_estimates_are_sane_for_every_size),
		cmocka_unit_test(test_damaged_samples_do_no_harm),
		cmocka_unit_test(test_merge_adds_and_subtract_takes_away),
		cmocka_unit_test(test_rounding_is_not_a_sample),
		cmocka_unit_test(test_rounding_is_no_uncertainty),
		cmocka_unit_test(test_factor_makes_the_whole_exact),
		cmocka_unit_test(test_share_and_rest_mirror_each_other),
		cmocka_unit_test(test_large_share_is_narrower_than_alone),
		cmocka_unit_test(test_share_with_all_samples),
		cmocka_unit_test(test_sum_difference_and_widening),
		cmocka_unit_test(test_interval_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
