/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks are remembered, and how often a wrong one is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unify/sample/stack_memo.h"
#include "unify/shared/hash.h"

#define KEY UINT64_C(0x1234567)
#define TRIES 20000

/* The log has the stacks. */
static uint32_t in_log;

static struct th_remembered
stack(uint32_t id)
{
	return (struct th_remembered){
		.stack = {.id = id, .is_whole = true, .use = &in_log},
		.detail = id * 10,
	};
}

static void
learn(uint64_t key, uint32_t id, unsigned times)
{
	struct th_remembered captured = stack(id);

	for (unsigned i = 0; i < times; i++)
		th_stack_memo_learn(key, &captured);
}

static uint64_t
random_at(uint64_t i)
{
	return th_hash_mix(i + 1);
}

/* The part of samples with this key that need no capture. */
static double
remembered(uint64_t key)
{
	struct th_remembered found;
	unsigned count = 0;

	for (uint64_t i = 0; i < TRIES; i++)
		count += th_stack_memo_find(key, random_at(i), &found);
	return (double)count / TRIES;
}

static int
start(void **state)
{
	(void)state;
	in_log = 1;
	th_stack_memo_reset();
	return 0;
}

static void
stacks_are_used_after_some_captures_that_agree(void **state)
{
	struct th_remembered found;

	(void)state;
	assert_true(remembered(KEY) == 0);
	learn(KEY, 7, TH_STACK_MEMO_TRUSTED - 1);
	assert_true(remembered(KEY) == 0);
	learn(KEY, 7, 1);
	assert_float_equal(remembered(KEY), 0.5 * 15 / 16, 0.02);
	learn(KEY, 7, 1000);
	assert_float_equal(remembered(KEY), 15.0 / 16, 0.02);
	assert_true(th_stack_memo_find(KEY, 1000007, &found));
	assert_int_equal(found.stack.id, 7);
	assert_int_equal(found.detail, 70);
	assert_true(remembered(KEY + 1) == 0);
	assert_true(remembered(0) == 0);
}

static void
only_whole_stacks_count(void **state)
{
	struct th_remembered captured = stack(7);

	(void)state;
	captured.stack.is_whole = false;
	for (int i = 0; i < 100; i++)
		th_stack_memo_learn(KEY, &captured);
	captured = stack(0);
	for (int i = 0; i < 100; i++)
		th_stack_memo_learn(KEY, &captured);
	assert_true(remembered(KEY) == 0);
}

static void
a_key_with_two_stacks_is_never_used_again(void **state)
{
	(void)state;
	learn(KEY, 7, 100);
	assert_true(remembered(KEY) > 0.9);
	learn(KEY, 8, 1);
	assert_true(remembered(KEY) == 0);
	learn(KEY, 7, 1000);
	assert_true(remembered(KEY) == 0);
}

/* The same stack with another detail is another. */
static void
details_count(void **state)
{
	struct th_remembered captured = stack(7);

	(void)state;
	learn(KEY, 7, 100);
	captured.detail++;
	th_stack_memo_learn(KEY, &captured);
	assert_true(remembered(KEY) == 0);
}

/* A ring drops stacks. */
static void
the_log_must_have_the_stack(void **state)
{
	(void)state;
	learn(KEY, 7, 100);
	in_log = 0;
	assert_true(remembered(KEY) == 0);
}

static void
many_failures_end_all(void **state)
{
	(void)state;
	learn(KEY, 1000, 100);
	for (uint64_t key = 1; key <= 20; key++) {
		learn(key * 3, 7, TH_STACK_MEMO_TRUSTED);
		learn(key * 3, 8, 1);
	}
	assert_true(remembered(KEY) == 0);
}

/* Samples that get the wrong stack until a check shows that there are two. */
static unsigned
wrong_of(uint64_t key, double share, uint64_t *draws)
{
	unsigned wrong = 0;

	th_stack_memo_reset();
	learn(key, 1, TH_STACK_MEMO_TRUSTED);
	for (;;) {
		double unit = (double)(random_at((*draws)++) >> 11) * 0x1p-53;
		uint32_t id = unit < share ? 2 : 1;
		struct th_remembered found;

		if (th_stack_memo_find(key, random_at((*draws)++), &found)) {
			wrong += found.stack.id != id;
			continue;
		}
		learn(key, id, 1);
		if (id == 2)
			return wrong;
	}
}

/*
 * A sample with the rarer stack is checked with a probability of at least 1/16, so that 15 are wrong
 * in the mean before one is found out, however rare it is.
 */
static void
few_are_wrong_until_it_is_found_out(void **state)
{
	static const double shares[] = {0.5, 0.1, 0.01, 0.001};

	(void)state;
	for (unsigned s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
		const unsigned keys = 300;
		uint64_t draws = 0;
		double wrong = 0;

		for (uint64_t key = 1; key <= keys; key++)
			wrong += wrong_of(key, shares[s], &draws);
		/* The standard deviation of a mean of geometric numbers is 15.5 / sqrt(300). */
		assert_true(wrong / keys < 15 + 4 * 0.9);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stacks_are_used_after_some_captures_that_agree, start),
		cmocka_unit_test_setup(only_whole_stacks_count, start),
		cmocka_unit_test_setup(a_key_with_two_stacks_is_never_used_again, start),
		cmocka_unit_test_setup(details_count, start),
		cmocka_unit_test_setup(the_log_must_have_the_stack, start),
		cmocka_unit_test_setup(many_failures_end_all, start),
		cmocka_unit_test_setup(few_are_wrong_until_it_is_found_out, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
