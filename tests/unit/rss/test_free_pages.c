/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates of empty pages, compared with heaps that are simulated block by block: adjacent
 * chunks of one size, each live or free by some pattern, and counted pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/rss/free_pages.h"
#include "unify/sample/poisson.h"

#define PAGE 4096
#define HEAP (64u << 20)
#define RUNS 40

struct heap {
	uint32_t chunk;     /* bytes, all of them in use when live */
	double probability; /* that a live block is sampled */
	bool (*is_live)(uint32_t index, uint32_t count, struct th_random *random);
};

struct outcome {
	double truth; /* means over the runs, parts of the heap */
	double said;
	double covered; /* fraction of the runs within estimate +- error */
};

/* Marks the pages that a live block has bytes in. */
static void
take_pages(uint8_t *pages, uint32_t start, uint32_t bytes)
{
	for (uint32_t page = start / PAGE; page <= (start + bytes - 1) / PAGE; page++)
		pages[page] = 1;
}

static void
simulate_one(const struct heap *heap, struct th_random *random, struct outcome *sum)
{
	uint32_t count = HEAP / heap->chunk;
	struct th_placed_block *blocks = calloc(count, sizeof(*blocks));
	uint8_t *pages = calloc(HEAP / PAGE + 1, 1);
	size_t sampled = 0;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!heap->is_live(i, count, random))
			continue;
		take_pages(pages, i * heap->chunk, heap->chunk);
		if (th_random_unit(random) < heap->probability)
			blocks[sampled++] = (struct th_placed_block){
				(i + 0.5) * heap->chunk, heap->chunk, 1 / heap->probability};
	}
	for (uint32_t page = 0; page < HEAP / PAGE; page++)
		taken += pages[page];
	double truth = 1 - (double)taken / (HEAP / PAGE);
	struct th_free_pages found = th_free_pages_estimate(blocks, sampled, HEAP, PAGE);
	sum->truth += truth / RUNS;
	sum->said += found.bytes / HEAP / RUNS;
	sum->covered += (fabs(found.bytes / HEAP - truth) <= found.error / HEAP) / (double)RUNS;
	free(blocks);
	free(pages);
}

static struct outcome
simulate(struct heap heap)
{
	struct outcome sum = {0, 0, 0};
	struct th_random random;

	th_random_seed(&random, 20);
	for (int i = 0; i < RUNS; i++)
		simulate_one(&heap, &random, &sum);
	print_message("chunks of %u: %.3f free, %.3f said, %.2f covered\n", heap.chunk,
		sum.truth, sum.said, sum.covered);
	return sum;
}

/* Patterns */

static bool
one_in_hundred(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)count, (void)random;
	return index % 100 == 0;
}

static bool
one_in_four(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)index, (void)count;
	return th_random_unit(random) < 0.25;
}

static bool
one_in_ten(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)index, (void)count;
	return th_random_unit(random) < 0.1;
}

static bool
half_of_all(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)index, (void)count;
	return th_random_unit(random) < 0.5;
}

static bool
second_half(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)random;
	return index >= count / 2;
}

/* Eight ranges, every other one live. */
static bool
stretches(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)random;
	return index * UINT64_C(8) / count % 2;
}

static bool
all(uint32_t index, uint32_t count, struct th_random *random)
{
	(void)index, (void)count, (void)random;
	return true;
}

/* Tests */

/*
 * Uniformly distributed blocks: the mean of 40 estimates, whose standard deviation is at most
 * 0.06, is within three standard errors of the truth; the interval nearly always contains the
 * truth.
 */
static void
test_even_heaps(void **state)
{
	static const struct heap heaps[] = {
		{1008, 1.0 / 66, one_in_hundred},
		{1008, 1.0 / 66, one_in_ten},
		{1008, 1.0 / 66, one_in_four},
		{1008, 1.0 / 524, one_in_four},
		{1008, 1.0 / 66, half_of_all},
		{16400, 1.0 / 4, one_in_four},
		{1008, 1.0 / 524, all},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		struct outcome outcome = simulate(heaps[i]);

		assert_true(fabs(outcome.said - outcome.truth) < 0.03);
		assert_true(outcome.covered >= 0.85);
	}
}

/* Clustered blocks: close to the truth, and not above it. */
static void
test_heaps_with_dense_regions(void **state)
{
	static const struct heap heaps[] = {
		{1008, 1.0 / 524, second_half},
		{1008, 1.0 / 66, second_half},
		{1008, 1.0 / 66, stretches},
		{80, 1.0 / 8192, second_half},
		{80, 1.0 / 1024, stretches},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		struct outcome outcome = simulate(heaps[i]);

		assert_true(outcome.said > 0.9 * outcome.truth);
		assert_true(outcome.said < outcome.truth + 0.01);
	}
}

/* All blocks are known: only the effect of page borders remains. */
static void
test_every_block_known(void **state)
{
	static const struct heap heaps[] = {
		{1008, 1, half_of_all}, {1008, 1, one_in_ten}, {1008, 1, second_half}};

	(void)state;
	for (size_t i = 0; i < sizeof(heaps) / sizeof(heaps[0]); i++) {
		struct outcome outcome = simulate(heaps[i]);

		assert_true(fabs(outcome.said - outcome.truth) < 0.005);
	}
}

static void
test_no_block_at_all(void **state)
{
	struct th_free_pages found = th_free_pages_estimate(NULL, 0, HEAP, PAGE);

	(void)state;
	assert_true(found.bytes == HEAP);
}

/* Blocks beyond the heap's ends and at one position, as in damaged logs. */
static void
test_blocks_out_of_place(void **state)
{
	struct th_placed_block blocks[] = {
		{0, 100, 5}, {HEAP, 100, 5}, {HEAP, 100, 1e30}, {HEAP, 1e30, 1}, {0, 0, 1}};

	(void)state;
	struct th_free_pages found = th_free_pages_estimate(
		blocks, sizeof(blocks) / sizeof(blocks[0]), HEAP, PAGE);
	assert_true(found.bytes >= 0 && found.bytes <= HEAP);
	assert_true(isfinite(found.error));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even_heaps),
		cmocka_unit_test(test_heaps_with_dense_regions),
		cmocka_unit_test(test_every_block_known),
		cmocka_unit_test(test_no_block_at_all),
		cmocka_unit_test(test_blocks_out_of_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
