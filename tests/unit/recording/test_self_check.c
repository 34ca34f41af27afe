/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check accepts a working unwinder and detects broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recording/recorder_fixture.h"
#include "unify/recording/self_check.h"

static void
test_what_works_passes(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	assert_true(th_self_check_walk(th_unwind));
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 0);
	recorder_tear_down(state);
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
	assert_false(th_self_check_walk(walk_nowhere));
	assert_false(th_self_check_walk(walk_in_place));
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
		cmocka_unit_test(test_what_works_passes),
		cmocka_unit_test(test_broken_walks),
		cmocka_unit_test(test_walk_without_rules),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("self check", tests, NULL, NULL);
}
