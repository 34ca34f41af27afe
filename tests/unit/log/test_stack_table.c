/* SPDX-License-Identifier: Apache-2.0 */
/* Equal stacks have one id, different ones different ids, on any number of threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unify/base/hash_set.h"
#include "unify/log/stack_log.h"

static int
start_empty(void **state)
{
	(void)state;
	th_stack_log_reset();
	return 0;
}

static uint32_t
intern(const uint64_t *frames, size_t count, uint32_t flags)
{
	uint32_t *logged;
	uint32_t id = th_stack_table_intern(frames, count, flags, &logged);

	assert_int_equal(logged != NULL, id != 0);
	return id;
}

/* A stack of one frame. */
static uint32_t
intern_number(uint64_t number)
{
	return intern(&number, 1, 0);
}

static int
compare_ids(const void *a, const void *b)
{
	const uint32_t *left = a;
	const uint32_t *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Whether none of these is 0, and no two are equal; sorts them. */
static bool
are_different(uint32_t *ids, size_t count)
{
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < count; i++)
		if (ids[i] == ids[i - 1])
			return false;
	return ids[0] != 0;
}

static void
test_equal_stacks_have_one_id(void **state)
{
	const uint64_t frames[] = {1, 2, 3};
	const uint64_t copy[] = {1, 2, 3};
	uint32_t id = intern(frames, 3, 0);

	(void)state;
	assert_int_not_equal(id, 0);
	assert_int_equal(intern(frames, 3, 0), id);
	assert_int_equal(intern(copy, 3, 0), id);
}

/* All properties of a stack count: frames, their order and number, flags. */
static void
test_different_stacks_have_different_ids(void **state)
{
	const uint64_t frames[] = {1, 2, 3, 0};
	const uint64_t other[] = {1, 2, 4};
	const uint64_t reversed[] = {3, 2, 1};
	const uint64_t zeros[4] = {0};
	uint32_t ids[] = {
		intern(frames, 3, 0),
		intern(other, 3, 0),
		intern(reversed, 3, 0),
		intern(frames, 2, 0),
		intern(frames, 4, 0),
		intern(frames, 3, 1),
		intern(frames + 1, 2, 0),
		intern(frames, 0, 0),
		intern(zeros, 1, 0),
		intern(zeros, 2, 0),
	};
	uint32_t first = ids[0];

	(void)state;
	assert_true(are_different(ids, sizeof(ids) / sizeof(ids[0])));
	assert_int_equal(intern(frames, 3, 0), first);
}

/* Words that differ in one bit only, as neighbouring return addresses do. */
static void
test_every_bit_counts(void **state)
{
	uint64_t frames[8] = {0};
	uint32_t ids[1 + 8 * 64];
	uint32_t count = 0;

	(void)state;
	ids[count++] = intern(frames, 8, 0);
	for (size_t i = 0; i < 8; i++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			frames[i] = (uint64_t)1 << bit;
			ids[count++] = intern(frames, 8, 0);
		}
		frames[i] = 0;
	}
	assert_true(are_different(ids, count));
}

/* A change of one frame does not cancel that of the previous one. */
static void
test_changes_do_not_cancel(void **state)
{
	static uint32_t ids[64 * 64];
	uint64_t frames[2] = {0x4000000000001234, 0x8000000500006789};
	uint32_t count = 0;

	(void)state;
	for (unsigned first = 0; first < 64; first++) {
		for (unsigned second = 0; second < 64; second++) {
			const uint64_t changed[2] = {frames[0] ^ UINT64_C(1) << first,
				frames[1] ^ UINT64_C(1) << second};

			ids[count++] = intern(changed, 2, 0);
		}
	}
	assert_true(are_different(ids, count));
}

/*
 * The flag is stored with the stack, so a record that did not fit into the log is written
 * later.
 */
static void
test_logged_is_remembered(void **state)
{
	const uint64_t frames[] = {1, 2, 3};
	uint32_t *first, *again;

	(void)state;
	th_stack_table_intern(frames, 3, 0, &first);
	assert_int_equal(*first, 0);
	th_stack_table_intern(frames, 3, 0, &again);
	assert_int_equal(*again, 0);
	*again = 1;
	th_stack_table_intern(frames, 3, 0, &first);
	assert_int_equal(*first, 1);
	th_stack_table_intern(frames, 2, 0, &first);
	assert_int_equal(*first, 0);
}

/* When the table is full, new stacks are refused, old ones still found. */
static void
test_full(void **state)
{
	const uint64_t too_many = TH_HASH_SET_NUMBERS;
	uint32_t *ids = calloc(too_many, sizeof(*ids));
	uint64_t count = 0;

	(void)state;
	for (uint64_t i = 0; i < too_many; i++)
		count += (ids[i] = intern_number(i)) != 0;
	assert_int_equal(count, TH_HASH_SET_MOST);
	assert_int_equal(intern_number(too_many), 0);
	for (uint64_t i = 0; i < too_many; i += 97)
		assert_int_equal(intern_number(i), ids[i]);
	free(ids);
}

static void
test_reset_forgets(void **state)
{
	const uint64_t frame = 5;
	uint32_t *logged;

	(void)state;
	th_stack_table_intern(&frame, 1, 0, &logged);
	*logged = 1;
	th_stack_log_reset();
	th_stack_table_intern(&frame, 1, 0, &logged);
	assert_int_equal(*logged, 0);
}

#define THREADS 4
#define STACKS 50000

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	uint32_t ids[STACKS];
};

/* All threads intern the same stacks, in the same order and at the same time. */
static void *
work(void *argument)
{
	struct worker *worker = argument;

	pthread_barrier_wait(worker->start);
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t frames[] = {i, i * 3, i * 5};
		uint32_t *logged;

		worker->ids[i] = th_stack_table_intern(frames, 3, 0, &logged);
	}
	return NULL;
}

static int
compare_pairs(const void *a, const void *b)
{
	const uint64_t *left = a;
	const uint64_t *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Id and stack of every result; sorted, equal ids are adjacent and must have one stack. */
static size_t
count_ids(const struct worker *workers, uint64_t *pairs)
{
	size_t count = 0;
	size_t distinct = 1;

	for (size_t i = 0; i < THREADS; i++) {
		for (uint64_t stack = 0; stack < STACKS; stack++)
			pairs[count++] = (uint64_t)workers[i].ids[stack] << 32 | stack;
	}
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	for (size_t i = 1; i < count; i++) {
		if (pairs[i] >> 32 == pairs[i - 1] >> 32)
			assert_int_equal((uint32_t)pairs[i], (uint32_t)pairs[i - 1]);
		else
			distinct++;
	}
	assert_true(pairs[0] >> 32 >= 1);
	return distinct;
}

/*
 * No id is assigned to two stacks.  A stack may get two ids, if two threads insert it at the
 * same time; afterwards it has one result.
 */
static void
test_concurrent(void **state)
{
	static struct worker workers[THREADS];
	static uint64_t pairs[THREADS * STACKS];
	pthread_barrier_t start;

	(void)state;
	pthread_barrier_init(&start, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i].start = &start;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&start);
	assert_in_range(count_ids(workers, pairs), STACKS, STACKS + STACKS / 10);
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t frames[] = {i, i * 3, i * 5};
		uint32_t id = intern(frames, 3, 0);

		assert_int_equal(intern(frames, 3, 0), id);
		assert_true(id == workers[0].ids[i] || id == workers[1].ids[i] ||
			    id == workers[2].ids[i] || id == workers[3].ids[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_equal_stacks_have_one_id, start_empty),
		cmocka_unit_test_setup(test_different_stacks_have_different_ids, start_empty),
		cmocka_unit_test_setup(test_every_bit_counts, start_empty),
		cmocka_unit_test_setup(test_changes_do_not_cancel, start_empty),
		cmocka_unit_test_setup(test_logged_is_remembered, start_empty),
		cmocka_unit_test_setup(test_full, start_empty),
		cmocka_unit_test_setup(test_reset_forgets, start_empty),
		cmocka_unit_test_setup(test_concurrent, start_empty),
	};

	return cmocka_run_group_tests_name("stack table", tests, NULL, NULL);
}
