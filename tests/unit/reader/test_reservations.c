/* SPDX-License-Identifier: Apache-2.0 */
/* Overlapping ranges: every result equals that of a search through all of them. */
#include "report/log/reservations.h"

#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define RANGES 3000
#define MANY 200000

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

struct range {
	uint64_t start;
	uint64_t bytes;
};

static uint32_t
search(const struct range *ranges, uint32_t count, uint64_t address)
{
	while (count && address - ranges[count - 1].start >= ranges[count - 1].bytes)
		count--;
	return count;
}

/* All addresses at which a result can change, after every `step` ranges and at the end. */
static void
check(const struct range *ranges, uint32_t count, uint32_t step)
{
	struct th_reservations reservations = {0};

	for (uint32_t i = 0; i < count; i++) {
		th_reservations_add(&reservations, ranges[i].start, ranges[i].bytes);
		if ((i + 1) % step && i + 1 < count)
			continue;
		for (uint32_t k = 0; k <= i; k++) {
			const uint64_t edges[] = {
				ranges[k].start, ranges[k].start + ranges[k].bytes};

			for (uint64_t at = 0; at < 4; at++) {
				uint64_t address = edges[at / 2] - at % 2;

				assert_int_equal(th_reservations_find(&reservations, address),
					search(ranges, i + 1, address));
			}
		}
	}
	th_reservations_deinit(&reservations);
	assert_int_equal(th_reservations_find(&reservations, ranges[0].start), 0);
}

static void
test_against_a_search(void **state)
{
	static struct range ranges[RANGES];
	const uint64_t lengths[] = {1, 10, 1000, 100000};
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < RANGES; i++)
			ranges[i] = (struct range){
				next(&random) % 100000, next(&random) % lengths[round]};
		check(ranges, 70, 1);
		check(ranges, RANGES, RANGES / 3);
	}
}

static void
test_edges_of_addresses(void **state)
{
	const struct range ranges[] = {{0, UINT64_MAX}, {UINT64_MAX, 1}, {0, 1}, {5, 0},
		{UINT64_MAX - 9, 5}, {7, 3}, {6, 5}};
	struct th_reservations past = {0};

	(void)state;
	check(ranges, 7, 1);
	/* A range that extends past the last address ends there. */
	th_reservations_add(&past, UINT64_MAX - 1, 100);
	assert_int_equal(th_reservations_find(&past, UINT64_MAX), 1);
	assert_int_equal(th_reservations_find(&past, 5), 0);
	th_reservations_deinit(&past);
}

struct size {
	size_t pieces;
	int depth;
	int deepest;
};

static void
measure(const void *node, VISIT visit, void *data)
{
	struct size *size = data;

	(void)node;
	size->pieces += visit == preorder || visit == leaf;
	size->depth += (visit == preorder) - (visit == endorder);
	if (size->deepest <= size->depth)
		size->deepest = size->depth + (visit == leaf);
}

/* Ranges are few pieces, and a query takes two steps per bit of their number, for any layout. */
static void
test_size(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int shape = 0; shape < 3; shape++) {
		struct th_reservations reservations = {0};
		struct size size = {0};

		for (uint64_t i = 0; i < MANY; i++) {
			const struct range ranges[] = {
				{i * 4096, 8192}, {i, 2 * (MANY - i)}, {next(&random), 8192}};

			th_reservations_add(
				&reservations, ranges[shape].start, ranges[shape].bytes);
		}
		twalk_r(reservations.pieces, measure, &size);
		assert_true(size.pieces && size.pieces < 2 * MANY);
		assert_true(size.deepest >= 18 && size.deepest <= 2 * 19);
		th_reservations_deinit(&reservations);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_search),
		cmocka_unit_test(test_edges_of_addresses),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
