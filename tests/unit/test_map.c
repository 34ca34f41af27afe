/* SPDX-License-Identifier: Apache-2.0 */
#include "report/map.h"

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

/* What a list would say: numbers count up with the words that are new. */
static void
check(uint64_t (*word_at)(uint64_t *state, size_t i))
{
	uint64_t *words = calloc(WORDS, sizeof(*words));
	struct th_map map = {0};
	uint64_t state = 1;
	uint32_t count = 0;
	bool added;

	for (size_t i = 0; i < WORDS; i++) {
		uint64_t word = word_at(&state, i);
		uint32_t known = th_map_find(&map, word);
		uint32_t number = th_map_intern(&map, word, &added);

		assert_int_equal(added, known == TH_MAP_NONE);
		assert_int_equal(number, added ? count : known);
		if (added)
			words[count++] = word;
		assert_int_equal(words[number], word);
	}
	assert_int_equal(map.count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(th_map_find(&map, words[i]), i);
	th_map_deinit(&map);
	assert_int_equal(th_map_find(&map, 1), TH_MAP_NONE);
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

/* Too large for an array at first; when the array has grown past them, they are found still. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
