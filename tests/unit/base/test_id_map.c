/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map from words to consecutive numbers: sparse and dense words, and words chosen to
 * collide.
 */
#include "report/base/id_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define WORDS 20000

static uint64_t
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

/* Numbers match those from a list: new words get consecutive numbers. */
static void
check(uint64_t (*word_at)(uint64_t *state, size_t i))
{
	uint64_t *words = calloc(WORDS, sizeof(*words));
	struct th_id_map map = {0};
	uint64_t state = 1;
	uint32_t count = 0;
	bool added;

	for (size_t i = 0; i < WORDS; i++) {
		uint64_t word = word_at(&state, i);
		uint32_t known = th_id_map_find(&map, word);
		uint32_t number = th_id_map_intern(&map, word, &added);

		assert_int_equal(added, known == TH_ID_MAP_NONE);
		assert_int_equal(number, added ? count : known);
		if (added)
			words[count++] = word;
		assert_int_equal(words[number], word);
	}
	assert_int_equal(map.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(th_id_map_find(&map, words[i]), i);
	th_id_map_deinit(&map);
	assert_int_equal(th_id_map_find(&map, 1), TH_ID_MAP_NONE);
	free(words);
}

static uint64_t
counted(uint64_t *state, size_t i)
{
	(void)state;
	return i / 2;
}

static uint64_t
scattered(uint64_t *state, size_t i)
{
	(void)i;
	return next(state) << 20;
}

/* Too large for the array at first; still found when the array has grown past them. */
static uint64_t
from_above(uint64_t *state, size_t i)
{
	return i % 2 ? i / 2 : next(state) % (2 * WORDS);
}

static uint64_t
greatest(uint64_t *state, size_t i)
{
	return i % 3 ? UINT64_MAX - next(state) % 100 : i;
}

static void
test_against_a_list(void **state)
{
	(void)state;
	check(counted);
	check(scattered);
	check(from_above);
	check(greatest);
}

/* Chosen words */

#define CHOSEN 60000
/*
 * If slots are used at random and at most half full, the probability that any run of k used
 * ones exists is below CHOSEN * exp(-0.193 k): 1e-12 for this.
 */
#define LONGEST_RUN 200

/* The word whose product with a known factor is `product`. */
static uint64_t
divide(uint64_t product, uint64_t factor)
{
	uint64_t inverse = factor;

	/* Each step doubles the number of correct bits, initially 3. */
	for (int i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	return product * inverse;
}

/* Equal halves, whose XOR is 0; the factor is that of Fibonacci hashing. */
static uint64_t
meeting_in_one_slot(uint64_t *state, size_t i)
{
	(void)state;
	return divide((uint64_t)(i + 1) << 32 | (i + 1), 0x9e3779b97f4a7c15u);
}

static uint64_t
alike_but_for_high_bits(uint64_t *state, size_t i)
{
	(void)state;
	return (uint64_t)(i + 1) << 44 | 1;
}

static uint64_t
far_apart(uint64_t *state, size_t i)
{
	(void)state;
	return (uint64_t)(i + 1) * 0x100000000000001u << 7;
}

static size_t
longest_run(const struct th_id_map *map)
{
	size_t longest = 0;
	size_t run = 0;

	for (size_t slot = 0; slot < map->slot_count; slot++) {
		run = map->slots[slot] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* A search reads no more slots than the longest run. */
static void
test_chosen_words_do_not_meet(void **state)
{
	uint64_t (*const words[])(uint64_t *, size_t) = {
		meeting_in_one_slot, alike_but_for_high_bits, far_apart, scattered};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct th_id_map map = {0};
		uint64_t random = 1;
		bool added;

		for (size_t k = 0; k < CHOSEN; k++) {
			th_id_map_intern(&map, words[i](&random, k), &added);
			if (!(k & (k - 1)))
				assert_true(longest_run(&map) <= LONGEST_RUN);
		}
		assert_true(longest_run(&map) <= LONGEST_RUN);
		th_id_map_deinit(&map);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_list),
		cmocka_unit_test(test_chosen_words_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
