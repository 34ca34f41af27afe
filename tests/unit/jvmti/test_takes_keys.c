/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's keys in the table of sampled blocks: kinds are apart, and neighbours share no bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/ledger/takes.h"

static uint64_t
key(uintptr_t number)
{
	/* As addresses of references: multiples of 8. */
	return th_takes_key_of(TH_LEDGER_GLOBAL, 0x7f0000000000 + number * 8);
}

static int
set_up(void **state)
{
	(void)state;
	th_live_blocks_reset();
	return 0;
}

static void
test_kinds_are_apart(void **state)
{
	uint64_t weak = th_takes_key_of(TH_LEDGER_WEAK, 8);

	(void)state;
	assert_true(th_live_blocks_insert(weak, 100));
	assert_int_equal(th_live_blocks_remove(th_takes_key_of(TH_LEDGER_GLOBAL, 8)), 0);
	assert_int_equal(th_live_blocks_remove(32), 0);
	/* It is no block. */
	assert_int_equal(th_live_blocks_count(), 0);
	assert_int_equal(th_live_blocks_remove(weak), 100);
	assert_int_equal(th_live_blocks_count(), 0);
}

static void
look(uintptr_t address, uint64_t sample, void *data)
{
	uintptr_t *sum = data;

	assert_int_equal(address, 0x7f0000000000 + sample * 8);
	*sum += sample;
}

static void
test_a_kind_is_visited(void **state)
{
	uintptr_t sum = 0;

	(void)state;
	assert_true(th_live_blocks_insert(key(1), 1));
	assert_true(th_live_blocks_insert(key(2), 2));
	assert_true(th_live_blocks_insert(th_takes_key_of(TH_LEDGER_WEAK, 8), 4));
	assert_true(th_live_blocks_insert(4096, 8));
	th_takes_each(TH_LEDGER_GLOBAL, look, &sum);
	assert_int_equal(sum, 3);
}

/* What is not in the table is hardly ever looked up there. */
static void
test_absent_keys(void **state)
{
	const uintptr_t held = 2000;
	const uintptr_t absent = 100000;
	size_t searched = 0;

	(void)state;
	for (uintptr_t i = 0; i < held; i++)
		assert_true(th_live_blocks_insert(key(i), i + 1));
	for (uintptr_t i = 0; i < absent; i++)
		searched += th_takes_may_hold(key(held + i));
	/* As many as keys have the same bit by chance, or half as many again. */
	assert_in_range(searched, 0, absent * held * 3 / 2 >> TH_LIVE_BLOCKS_FILTER_BITS);
	for (uintptr_t i = 0; i < held; i++)
		assert_int_equal(th_live_blocks_remove(key(i)), i + 1);
	for (uintptr_t i = 0; i < held; i++)
		assert_false(th_takes_may_hold(key(i)));
}

/* As many as are held before only one take in 512 is recorded: hardly a key is refused. */
static void
test_has_room(void **state)
{
	size_t refused = 0;

	(void)state;
	for (uintptr_t i = 0; i < 65536; i++)
		refused += !th_live_blocks_insert(key(i), i + 1);
	assert_in_range(refused, 0, 65);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kinds_are_apart, set_up),
		cmocka_unit_test_setup(test_a_kind_is_visited, set_up),
		cmocka_unit_test_setup(test_absent_keys, set_up),
		cmocka_unit_test_setup(test_has_room, set_up),
	};

	return cmocka_run_group_tests_name("takes_keys", tests, NULL, NULL);
}
