/* SPDX-License-Identifier: Apache-2.0 */
/* A set of words: numbers, marks, all levels up to the last, and several threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unify/base/hash_set.h"

#define THREADS 4
#define SHARED 60000

static struct th_hash_set set;

static int
tear_down(void **state)
{
	(void)state;
	th_hash_set_reset(&set);
	return 0;
}

static uint64_t
word_of(uint64_t i)
{
	return th_hash_mix(i) >> 1 | 1;
}

static void
test_words_have_numbers(void **state)
{
	(void)state;
	assert_int_equal(th_hash_set_find(&set, 7), 0);
	struct th_hash_entry first = th_hash_set_add(&set, 7);
	struct th_hash_entry second = th_hash_set_add(&set, 8);
	struct th_hash_entry again = th_hash_set_add(&set, 7);

	assert_true(first.is_new && second.is_new && !again.is_new);
	assert_int_not_equal(first.number, second.number);
	assert_int_equal(again.number, first.number);
	assert_ptr_equal(again.word, first.word);
	assert_int_equal(th_hash_set_find(&set, 8), second.number);
}

static void
test_marks_are_not_compared(void **state)
{
	(void)state;
	struct th_hash_entry first = th_hash_set_add(&set, 7 | TH_HASH_SET_MARK);

	assert_false(th_hash_set_add(&set, 7).is_new);
	assert_int_equal(th_hash_set_find(&set, 7), first.number);
	assert_true(*first.word == (7 | TH_HASH_SET_MARK));
	*first.word = 7;
	assert_int_equal(th_hash_set_find(&set, 7 | TH_HASH_SET_MARK), first.number);
}

/* Half of each level, and a few less where words hash to the same slots. */
static void
test_all_levels(void **state)
{
	unsigned char *used = calloc(TH_HASH_SET_NUMBERS + 1, 1);
	uint32_t count = 0;

	(void)state;
	for (uint64_t i = 0; i < TH_HASH_SET_NUMBERS; i++) {
		struct th_hash_entry entry = th_hash_set_add(&set, word_of(i));

		if (!entry.word)
			continue;
		assert_true(entry.is_new);
		assert_in_range(entry.number, 1, TH_HASH_SET_NUMBERS);
		assert_false(used[entry.number]);
		used[entry.number] = 1;
		assert_int_equal(th_hash_set_find(&set, word_of(i)), entry.number);
		count++;
	}
	assert_int_equal(count, TH_HASH_SET_MOST);
	assert_null(th_hash_set_add(&set, word_of(TH_HASH_SET_NUMBERS)).word);
	th_hash_set_clear(&set);
	assert_int_equal(th_hash_set_find(&set, word_of(0)), 0);
	assert_true(th_hash_set_add(&set, word_of(0)).is_new);
	free(used);
}

static void *
add_all(void *data)
{
	uintptr_t added = 0;

	(void)data;
	for (uint64_t i = 0; i < SHARED; i++)
		added += th_hash_set_add(&set, word_of(i)).is_new;
	return (void *)added;
}

/*
 * All threads add the same words: one adds each, but where one of four levels becomes full at that
 * moment: then each of the words that are being added may be added twice.
 */
static void
test_several_threads(void **state)
{
	pthread_t threads[THREADS];
	uintptr_t sum = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_all, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		void *added;

		pthread_join(threads[i], &added);
		sum += (uintptr_t)added;
	}
	assert_in_range(sum, SHARED, SHARED + 4 * THREADS * THREADS);
	for (uint64_t i = 0; i < SHARED; i++)
		assert_int_not_equal(th_hash_set_find(&set, word_of(i)), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_words_have_numbers),
		TEST(test_marks_are_not_compared),
		TEST(test_all_levels),
		TEST(test_several_threads),
	};

	return cmocka_run_group_tests_name("hash_set", tests, NULL, NULL);
}
