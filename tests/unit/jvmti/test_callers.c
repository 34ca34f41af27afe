/* SPDX-License-Identifier: Apache-2.0 */
/* With which probability takes of a caller are recorded: by its samples, by the rate, when all is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/ledger/callers.h"

/* Of a caller: 512 at level 0, then at 3, then at 6. */
#define LAST_LEVEL (3 * TH_CALLERS_PER_LEVEL)

static int
set_up(void **state)
{
	(void)state;
	th_callers_clear();
	return 0;
}

static struct th_caller *
caller(uintptr_t number)
{
	return th_callers_find(TH_LEDGER_GLOBAL, 0x7f0000001000 + number * 64);
}

static uint32_t
level(const struct th_caller *caller)
{
	return th_callers_level(caller->skip);
}

/* Records takes of a caller at its level. */
static void
draw(struct th_caller *caller, uint32_t count)
{
	while (count--)
		th_callers_drawn(caller, level(caller), 1);
}

static void
test_level_is_probability(void **state)
{
	(void)state;
	assert_int_equal(th_callers_level(0), 0);
	/* A draw of 64 bits is not below 7/8 of all in one case of 8. */
	assert_int_equal(th_callers_level(UINT64_C(7) << 61), 3);
	assert_int_equal(th_callers_level(UINT64_MAX << (64 - 9)), 9);
	assert_int_equal(th_callers_level(UINT64_MAX << (64 - 17)), 17);
}

static void
test_levels_of_a_caller(void **state)
{
	struct th_caller *one = caller(1);

	(void)state;
	assert_true(one->skip == 0);
	draw(one, TH_CALLERS_PER_LEVEL - 1);
	assert_int_equal(level(one), 0);
	draw(one, 1);
	assert_int_equal(level(one), 3);
	assert_true(one->skip == UINT64_C(7) << 61);
	draw(one, TH_CALLERS_PER_LEVEL);
	assert_int_equal(level(one), 6);
	draw(one, TH_CALLERS_PER_LEVEL);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
	/* Others are not concerned. */
	assert_int_equal(level(caller(2)), 0);
}

/* At once, since millions may come in a second. */
static void
test_rate_raises_levels(void **state)
{
	struct th_caller *one = caller(1);

	(void)state;
	draw(one, LAST_LEVEL);
	th_callers_adapt();
	draw(one, TH_CALLERS_RATE - 1);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
	draw(one, 1);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 1);
	draw(one, TH_CALLERS_RATE);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 2);
	assert_int_equal(level(caller(2)), 0);
	/* Bounded. */
	draw(one, 100 * TH_CALLERS_RATE);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 8);
}

static void
test_quiet_seconds_lower_levels(void **state)
{
	struct th_caller *one = caller(1);

	(void)state;
	draw(one, LAST_LEVEL);
	th_callers_adapt();
	draw(one, 2 * TH_CALLERS_RATE);
	th_callers_adapt();
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 2);
	draw(one, TH_CALLERS_RATE / 4);
	th_callers_adapt();
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 2);
	th_callers_adapt();
	assert_int_equal(level(one), TH_CALLERS_FREQUENT + 1);
	th_callers_adapt();
	th_callers_adapt();
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
}

static void
test_full_table(void **state)
{
	struct th_caller *one = caller(1);

	(void)state;
	th_callers_set_full(true);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
	draw(one, 1);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
	th_callers_set_full(false);
	assert_int_equal(level(one), 0);
}

static void
test_exact(void **state)
{
	struct th_caller *one = caller(1);

	(void)state;
	draw(one, LAST_LEVEL);
	th_callers_set_exact(true);
	assert_true(one->skip == 0);
	draw(one, 3 * TH_CALLERS_RATE);
	assert_true(one->skip == 0);
	th_callers_set_exact(false);
	assert_int_equal(level(one), TH_CALLERS_FREQUENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_level_is_probability, set_up),
		cmocka_unit_test_setup(test_levels_of_a_caller, set_up),
		cmocka_unit_test_setup(test_rate_raises_levels, set_up),
		cmocka_unit_test_setup(test_quiet_seconds_lower_levels, set_up),
		cmocka_unit_test_setup(test_full_table, set_up),
		cmocka_unit_test_setup(test_exact, set_up),
	};

	return cmocka_run_group_tests_name("callers", tests, NULL, NULL);
}
