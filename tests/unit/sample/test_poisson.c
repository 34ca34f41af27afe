/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling method against published vectors, libm and the mathematics.  Seeds are fixed, so
 * a run is the same everywhere; a correct sampler with another seed would exceed the bounds in
 * less than one of 1000 runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>

#include "tests/unit/sample/probability.h"
#include "unify/sample/poisson.h"

#define INTERVAL (512u * 1024)
#define DRAWS 200000

/* First outputs of the authors' xoshiro256++ from the state 1, 2, 3, 4. */
static void
test_random_is_xoshiro256pp(void **state)
{
	static const uint64_t expected[] = {41943041, 58720359, 3588806011781223u,
		3591011842654386u, 9228616714210784205u, 9973669472204895162u,
		14011001112246962877u, 12406186145184390807u, 15849039046786891736u,
		10450023813501588000u};
	struct th_random random = {{1, 2, 3, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(th_random_next(&random), expected[i]);
}

/* First outputs of the authors' splitmix64 from 1234567. */
static void
test_seed_is_splitmix64(void **state)
{
	static const uint64_t expected[4] = {6457827717110365317u, 3203168211198807973u,
		9817491932198370423u, 4593380528125082431u};
	struct th_random random;

	(void)state;
	th_random_seed(&random, 1234567);
	assert_memory_equal(random.state, expected, sizeof(expected));
}

static void
test_unit_excludes_zero_and_reaches_one(void **state)
{
	/* next() is rotl(s0 + s3, 23) + s0: all zero, and all one bits. */
	struct th_random zero = {{0, 1, 1, 0}};
	struct th_random ones = {{0, 1, 1, UINT64_MAX}};

	(void)state;
	assert_true(th_random_unit(&zero) == 0x1p-53);
	assert_true(th_random_unit(&ones) == 1);
}

/*
 * The draw is -N ln(U) of the next uniform: at N = 2^57 rounding to integers loses less than
 * 1e-12.
 */
static void
test_draw_agrees_with_libm(void **state)
{
	const uint64_t interval = (uint64_t)1 << 57;
	struct th_random random, copy;

	(void)state;
	th_random_seed(&random, 1);
	for (int i = 0; i < DRAWS; i++) {
		copy = random;
		double expected = -(double)interval * log(th_random_unit(&copy));
		double drawn = (double)th_sampler_draw(&random, interval);

		assert_true(fabs(drawn - expected) <= 1e-12 * expected + 1);
	}
}

/* The largest interval times the largest -ln(U), 36.7, does not fit: it must not wrap. */
static void
test_draw_saturates(void **state)
{
	struct th_random random = {{0, 1, 1, 0}};

	(void)state;
	assert_true(th_sampler_draw(&random, UINT64_MAX) > INT64_MAX / 2);
}

/*
 * Whole parts of an exponential variable of mean N have mean 1/(e^(1/N) - 1) = N - 1/2 + ...
 * and standard deviation N, up to 1/N^2; the mean of n is within 4 N/sqrt(n) of it, except for
 * one seed in 16,000.
 */
static void
test_draws_have_the_right_mean(void **state)
{
	static const uint64_t intervals[] = {1, 2, 10, 1000, INTERVAL};

	(void)state;
	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		double interval = (double)intervals[i];
		double expected = 1 / expm1(1 / interval);
		struct th_random random;
		double sum = 0;

		th_random_seed(&random, 100 + i);
		for (int n = 0; n < DRAWS; n++)
			sum += (double)th_sampler_draw(&random, intervals[i]);
		assert_true(fabs(sum / DRAWS - expected) < 4 * interval / sqrt(DRAWS));
	}
}

static int
compare_draws(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Kolmogorov-Smirnov distance of draws from the exponential distribution of mean `interval`. */
static double
distance_from_exponential(int64_t *draws, size_t count, double interval)
{
	double distance = 0;

	qsort(draws, count, sizeof(*draws), compare_draws);
	for (size_t i = 0; i < count; i++) {
		double expected = -expm1(-(double)draws[i] / interval);

		distance = fmax(distance, fabs(expected - (double)i / (double)count));
		distance = fmax(distance, fabs(expected - (double)(i + 1) / (double)count));
	}
	return distance;
}

/* sqrt(n) D exceeds 1.95 with probability 2 exp(-2 * 1.95^2) = 0.001 (Kolmogorov). */
#define KOLMOGOROV_LIMIT 1.95

static void
test_draws_are_exponential(void **state)
{
	int64_t *draws = calloc(DRAWS, sizeof(*draws));
	struct th_random random;

	(void)state;
	th_random_seed(&random, 2);
	for (size_t i = 0; i < DRAWS; i++)
		draws[i] = th_sampler_draw(&random, INTERVAL);
	assert_true(distance_from_exponential(draws, DRAWS, INTERVAL) * sqrt(DRAWS) <
		    KOLMOGOROV_LIMIT);
	free(draws);
}

/* Threads take consecutive seeds; a short-lived one makes only its first draw. */
static void
test_first_draws_of_consecutive_seeds_are_exponential(void **state)
{
	int64_t *draws = calloc(DRAWS, sizeof(*draws));

	(void)state;
	for (size_t i = 0; i < DRAWS; i++) {
		struct th_random random;

		th_random_seed(&random, i);
		draws[i] = th_sampler_draw(&random, INTERVAL);
	}
	assert_true(distance_from_exponential(draws, DRAWS, INTERVAL) * sqrt(DRAWS) <
		    KOLMOGOROV_LIMIT);
	free(draws);
}

/* Streams of neighbouring seeds: their correlation is within 4/sqrt(n) of zero. */
static void
test_streams_are_not_correlated(void **state)
{
	struct th_random a, b;
	double sum = 0;

	(void)state;
	th_random_seed(&a, 7);
	th_random_seed(&b, 8);
	for (int i = 0; i < DRAWS; i++)
		sum += (th_random_unit(&a) - 0.5) * (th_random_unit(&b) - 0.5) * 12;
	assert_true(fabs(sum / DRAWS) < 4 / sqrt(DRAWS));
}

/* Hits among `blocks` of one size, counted as in malloc. */
static int
count_hits(struct th_random *random, uint64_t size, uint64_t interval, int blocks)
{
	int64_t countdown = th_sampler_draw(random, interval);
	int hits = 0;

	for (int i = 0; i < blocks; i++) {
		countdown -= (int64_t)size;
		if (countdown < 0) {
			hits++;
			countdown = th_sampler_draw(random, interval);
		}
	}
	return hits;
}

/*
 * Hits are binomial (n, p): within 4 standard deviations, except for one case in 16,000.  Small
 * intervals are included because countdowns are whole bytes, and an error of that would show at
 * a size of 1.
 */
static void
test_blocks_are_hit_with_their_probability(void **state)
{
	static const uint64_t sizes[] = {1, 2, 3, 16, 100, 4096, 10000};
	static const uint64_t intervals[] = {1, 2, 7, 100, 4096};
	const int blocks = 100000;
	struct th_random random;

	(void)state;
	th_random_seed(&random, 3);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
			double p = sampling_probability(sizes[i], intervals[k]);
			int hits = count_hits(&random, sizes[i], intervals[k], blocks);

			assert_true(fabs(hits - p * blocks) <=
				    4 * sqrt(blocks * p * (1 - p)) + 1e-6);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_is_xoshiro256pp),
		cmocka_unit_test(test_seed_is_splitmix64),
		cmocka_unit_test(test_unit_excludes_zero_and_reaches_one),
		cmocka_unit_test(test_draw_agrees_with_libm),
		cmocka_unit_test(test_draw_saturates),
		cmocka_unit_test(test_draws_have_the_right_mean),
		cmocka_unit_test(test_draws_are_exponential),
		cmocka_unit_test(test_first_draws_of_consecutive_seeds_are_exponential),
		cmocka_unit_test(test_streams_are_not_correlated),
		cmocka_unit_test(test_blocks_are_hit_with_their_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
