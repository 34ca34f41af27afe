/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is held: put, replace, take, overflow, and threads with keys of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "jvmti/ledger/held.h"
#include "unify/shared/log_format.h"

#define THREADS 4
#define ROUNDS 20000
#define KEYS_HELD 64

static uint64_t
key(uintptr_t number)
{
	/* As addresses of references: multiples of 8. */
	return th_held_key(TH_LEDGER_GLOBAL, 0x7f0000000000 + number * 8);
}

/* Hash values with keys. */
static size_t
count_present(void)
{
	size_t count = 0;

	for (size_t i = 0; i < TH_HELD_MAX; i++)
		count += th_held_present[i] != 0;
	return count;
}

static int
set_up(void **state)
{
	(void)state;
	if (!th_held_init())
		return 1;
	th_held_clear();
	return 0;
}

static void
test_takes_what_was_put(void **state)
{
	uint64_t replaced;

	(void)state;
	assert_true(th_held_put(key(1), 100, &replaced));
	assert_int_equal(replaced, 0);
	assert_int_equal(th_held_find(key(1)), 100);
	assert_int_equal(th_held_take(key(2)), 0);
	assert_int_equal(th_held_take(key(1)), 100);
	assert_int_equal(th_held_take(key(1)), 0);
	assert_int_equal(th_held_count(), 0);
}

static void
test_kinds_are_apart(void **state)
{
	uint64_t weak = th_held_key(TH_LEDGER_WEAK, 8);
	uint64_t replaced;

	(void)state;
	assert_true(th_held_put(weak, 100, &replaced));
	assert_int_equal(th_held_take(th_held_key(TH_LEDGER_GLOBAL, 8)), 0);
	assert_int_equal(th_held_take(weak), 100);
}

static void
test_a_key_is_replaced(void **state)
{
	uint64_t replaced;

	(void)state;
	assert_true(th_held_put(key(1), 100, &replaced));
	assert_true(th_held_put(key(1), 200, &replaced));
	assert_int_equal(replaced, 100);
	assert_int_equal(th_held_count(), 1);
	assert_int_equal(th_held_take(key(1)), 200);
	assert_false(th_held_may_have(key(1)));
}

/* What is not in the table is hardly ever looked up there. */
static void
test_absent_keys(void **state)
{
	const uintptr_t held = 2000;
	const uintptr_t absent = 100000;
	uint64_t replaced;
	size_t searched = 0;

	(void)state;
	for (uintptr_t i = 0; i < held; i++)
		assert_true(th_held_put(key(i), i + 1, &replaced));
	for (uintptr_t i = 0; i < absent; i++)
		searched += th_held_may_have(key(held + i));
	/* As many as keys have the same hash value by chance, 1.5 %, or half as many again. */
	assert_in_range(searched, 0, absent * held * 3 / 2 / TH_HELD_MAX);
	for (uintptr_t i = 0; i < held; i++)
		assert_int_equal(th_held_take(key(i)), i + 1);
	assert_int_equal(count_present(), 0);
}

/* At half its size hardly a key is refused; beyond, those are refused that do not fit. */
static void
test_is_bounded(void **state)
{
	uint64_t replaced;
	size_t refused = 0;
	size_t lost = 0;

	(void)state;
	for (uintptr_t i = 0; i < TH_HELD_MAX / 2; i++)
		refused += !th_held_put(key(i), i + 1, &replaced);
	assert_in_range(refused, 0, TH_HELD_MAX / 2 / 1000);
	for (uintptr_t i = 0; i < TH_HELD_MAX / 2; i++)
		lost += th_held_find(key(i)) != i + 1 || !th_held_may_have(key(i));
	assert_int_equal(lost, refused);
	for (uintptr_t i = TH_HELD_MAX / 2; i < 2 * TH_HELD_MAX; i++)
		refused += !th_held_put(key(i), i + 1, &replaced);
	assert_true(refused >= TH_HELD_MAX);
	for (uintptr_t i = 0; i < 2 * TH_HELD_MAX; i++)
		refused += th_held_take(key(i)) == i + 1;
	assert_int_equal(refused, 2 * TH_HELD_MAX);
	assert_int_equal(th_held_count(), 0);
	assert_int_equal(count_present(), 0);
}

/* Each thread finds its own keys, whatever the others do in the same buckets. */
static void *
run(void *data)
{
	uintptr_t base = (uintptr_t)data * KEYS_HELD;
	uintptr_t faults = 0;
	uint64_t replaced;

	for (int round = 0; round < ROUNDS / KEYS_HELD; round++) {
		for (uintptr_t i = 0; i < KEYS_HELD; i++)
			faults += !th_held_put(key(base + i), base + i + 1, &replaced);
		for (uintptr_t i = 0; i < KEYS_HELD; i++)
			faults += th_held_take(key(base + i)) != base + i + 1;
	}
	return (void *)faults;
}

static void
test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *faults;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &faults);
		assert_null(faults);
	}
	assert_int_equal(th_held_count(), 0);
	assert_int_equal(count_present(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_takes_what_was_put, set_up),
		cmocka_unit_test_setup(test_kinds_are_apart, set_up),
		cmocka_unit_test_setup(test_a_key_is_replaced, set_up),
		cmocka_unit_test_setup(test_absent_keys, set_up),
		cmocka_unit_test_setup(test_is_bounded, set_up),
		cmocka_unit_test_setup(test_threads, set_up),
	};

	return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
