/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check accepts working parts and detects each broken one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recording/recorder_fixture.h"
#include "unify/recording/self_check.h"

static struct th_self_check_parts parts;

static int
set_up(void **state)
{
	(void)state;
	parts = th_self_check_parts;
	return 0;
}

static void
test_what_works_passes(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	assert_true(th_self_check_countdown(&parts));
	assert_true(th_self_check_walk(&parts));
	th_guard_enter();
	assert_true(th_self_check_live(&parts));
	th_guard_leave();
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 0);
	recorder_tear_down(state);
}

/* A wrong, signed comparison: due only below zero. */
static bool
take_late(uint64_t *countdown, uint64_t size)
{
	*countdown -= size;
	return (int64_t)*countdown < 0;
}

static bool
take_never(uint64_t *countdown, uint64_t size)
{
	*countdown -= size;
	return false;
}

static void *
state_in_the_heap(void)
{
	return (void *)(uintptr_t)0x10000;
}

static void
test_broken_countdowns(void **state)
{
	(void)state;
	parts.take = take_late;
	assert_false(th_self_check_countdown(&parts));
	parts.take = take_never;
	assert_false(th_self_check_countdown(&parts));
	parts.take = th_self_check_parts.take;
	parts.thread_state = state_in_the_heap;
	assert_false(th_self_check_countdown(&parts));
}

static size_t
walk_nowhere(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
{
	(void)registers;
	(void)limits;
	(void)frames;
	(void)capacity;
	*end_ret = TH_UNWIND_STOPPED;
	return 0;
}

/* Reports the right end, but with an unchanged stack pointer. */
static size_t
walk_in_place(struct th_registers *registers, const struct th_unwind_limits *limits,
	uint64_t *frames, size_t capacity, enum th_unwind_end *end_ret)
{
	(void)frames;
	(void)capacity;
	registers->pc = limits->code_low;
	*end_ret = TH_UNWIND_CODE;
	return 0;
}

static void
test_broken_walks(void **state)
{
	(void)state;
	parts.walk = walk_nowhere;
	assert_false(th_self_check_walk(&parts));
	parts.walk = walk_in_place;
	assert_false(th_self_check_walk(&parts));
}

static bool
insert_nothing(uintptr_t address, uint64_t sample)
{
	(void)address;
	(void)sample;
	return true;
}

static bool
never_holds(const void *block)
{
	(void)block;
	return false;
}

static void
test_broken_live_tables(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	th_guard_enter();
	parts.may_hold = never_holds;
	assert_false(th_self_check_live(&parts));
	parts.may_hold = th_self_check_parts.may_hold;
	parts.insert = insert_nothing;
	assert_false(th_self_check_live(&parts));
	th_guard_leave();
	recorder_tear_down(state);
}

/* Without unwind information frames are found by frame pointer, where present. */
static void
test_walk_without_rules(void **state)
{
	(void)state;
	uint64_t steps = th_unwind_frame_pointer_steps();
	th_unwind_use_rules(false);
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	th_unwind_use_rules(true);
	assert_true(th_unwind_frame_pointer_steps() > steps ||
		    recorder_counter(TH_COUNTER_UNWIND_STOPPED) > 0);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
	recorder_tear_down(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_works_passes, set_up),
		cmocka_unit_test_setup(test_broken_countdowns, set_up),
		cmocka_unit_test_setup(test_broken_walks, set_up),
		cmocka_unit_test_setup(test_broken_live_tables, set_up),
		cmocka_unit_test_setup(test_walk_without_rules, set_up),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("self check", tests, NULL, NULL);
}
