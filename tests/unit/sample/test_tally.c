/* SPDX-License-Identifier: Apache-2.0 */
/* Counts by stack: exact, joined slots, bounded makers, and unbiased beyond the rate. */
#include "tests/unit/log/log_fixture.h"

#include <string.h>

#include "unify/sample/tally.h"
#include "unify/shared/clock.h"

#define LARGE ((uint64_t)64 << 20)
#define STEP_NS ((uint64_t)TH_NS_PER_S / 8) /* the first length of a slot */
#define START_NS ((uint64_t)1000 * TH_NS_PER_S)

static struct th_tally tally;

static int
set_up(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	memset(&tally, 0, sizeof(tally));
	tally.kind = TH_TALLY_THREADS;
	return 0;
}

static struct th_tally_item
item_at(uint64_t born)
{
	return (struct th_tally_item){
		.maker = th_tally_maker(&tally, 7, 0),
		.stack = 7,
		.weight = 1,
		.born = born,
		.bytes = 10,
		.parts = 2,
	};
}

static uint64_t
sum_of(const struct th_tally_maker *maker)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < TH_TALLY_SLOTS; i++)
		sum += maker->births[i];
	return sum;
}

static void
what_is_made_and_ends_is_counted(void **state)
{
	struct th_tally_item first = item_at(START_NS);
	struct th_tally_item second = item_at(START_NS + STEP_NS);
	const struct th_tally_maker *maker;

	(void)state;
	assert_true(th_tally_add(&tally, &first));
	assert_true(th_tally_add(&tally, &second));
	maker = &tally.makers[first.maker];
	assert_int_equal(maker->event.alive, 2);
	assert_int_equal(maker->births[0], 1);
	assert_int_equal(maker->births[1], 1);
	th_tally_remove(&tally, &first, true);
	th_tally_grow(&tally, second.maker, 5, 1);
	assert_int_equal(maker->event.made, 2);
	assert_int_equal(maker->event.alive, 1);
	assert_int_equal(maker->event.bytes, 15);
	assert_int_equal(maker->event.parts, 3);
	assert_int_equal(maker->births[0], 0);
}

/* A thousand, one in each slot: an end is found in the slot that its birth is in now. */
static void
slots_are_joined(void **state)
{
	struct th_tally_item first = item_at(START_NS);

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct th_tally_item item = item_at(START_NS + i * STEP_NS);

		th_tally_add(&tally, &item);
		assert_int_equal(sum_of(&tally.makers[item.maker]), i + 1);
	}
	assert_int_equal(tally.slot_ns, 32 * STEP_NS);
	assert_int_equal(tally.makers[first.maker].births[0], 32);
	th_tally_remove(&tally, &first, true);
	assert_int_equal(tally.makers[first.maker].births[0], 31);
}

static void
makers_are_bounded(void **state)
{
	uint32_t number;

	(void)state;
	for (uint32_t i = 1; i < TH_TALLY_MAKERS_MAX; i++)
		assert_true(th_tally_maker(&tally, i, 0));
	number = th_tally_maker(&tally, 1, 0);
	assert_true(number);
	assert_int_equal(tally.makers[number].event.stack, 1);
	assert_int_equal(th_tally_maker(&tally, TH_TALLY_MAKERS_MAX, 0), 0);
	/* Things of no maker are ignored. */
	assert_true(th_tally_add(&tally, &(struct th_tally_item){.weight = 1}));
}

/* The burst and the rate are exact. */
static void
few_are_all_counted(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < TH_TALLY_BURST + TH_TALLY_RATE; i++)
		assert_int_equal(th_tally_level(&tally, START_NS + i), 0);
	for (uint32_t second = 1; second < 20; second++)
		for (uint32_t i = 0; i < TH_TALLY_RATE; i++)
			assert_int_equal(th_tally_level(&tally,
						 START_NS + (uint64_t)second * TH_NS_PER_S + i),
				0);
}

/*
 * 20,000 a second for ten seconds: those counted stand for all, and are hardly more than the
 * rate allows.  The weights are at most 64, so the standard deviation of the sum is below
 * sqrt(200,000 * 63) = 3,550: six of them are tolerated.
 */
static void
many_are_thinned_without_bias(void **state)
{
	uint32_t counted = 0;
	double weight = 0;

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		uint32_t level = th_tally_level(&tally, START_NS + i * (TH_NS_PER_S / 20000));

		assert_true(level <= 6);
		if (!th_live_keeps(i, level))
			continue;
		counted++;
		weight += (double)(1u << level);
	}
	assert_float_equal(weight, 200000, 6 * 3550);
	/* In each second 500 exactly, then 250 for each doubling: six of them at most. */
	assert_true(counted <= TH_TALLY_BURST + 10 * (TH_TALLY_RATE + 6 * TH_TALLY_RATE / 2));
}

/*
 * The same in a process that gets a quarter of a processor: a quarter of them is counted, after the
 * burst.  The weights are at most 256; one that is idle counts TH_TALLY_RATE_LEAST exactly.
 */
static void
a_process_that_waits_counts_fewer(void **state)
{
	uint32_t counted = 0;
	double weight = 0;

	(void)state;
	th_tally_adapt(&tally, TH_NS_PER_S / 4, TH_NS_PER_S);
	for (uint64_t i = 0; i < 200000; i++) {
		uint32_t level = th_tally_level(&tally, START_NS + i * (TH_NS_PER_S / 20000));

		assert_true(level <= 8);
		if (!th_live_keeps(i, level))
			continue;
		counted++;
		weight += (double)(1u << level);
	}
	assert_float_equal(weight, 200000, 6 * 7141);
	assert_true(counted <= TH_TALLY_BURST + 10 * TH_TALLY_RATE / 4 * (1 + 8 / 2));
	th_tally_adapt(&tally, 0, TH_NS_PER_S);
	for (uint64_t second = 20; second < 30; second++)
		for (uint32_t i = 0; i < TH_TALLY_RATE_LEAST; i++)
			assert_int_equal(
				th_tally_level(&tally, START_NS + second * TH_NS_PER_S + i), 0);
}

/* One of 2^level is counted at once, and the level raised for the next: the burst is spent once. */
static void
lasting_load_is_bounded(void **state)
{
	const uint64_t seconds = 14, per_s = 70000;
	uint64_t counted = 0;

	(void)state;
	for (uint64_t i = 0; i < seconds * per_s; i++) {
		if (i & ((1u << tally.level) - 1))
			continue;
		counted++;
		if (th_tally_level(&tally, START_NS + i * (TH_NS_PER_S / per_s)))
			th_tally_raise(&tally);
	}
	assert_in_range(counted, TH_TALLY_BURST + seconds * TH_TALLY_RATE / 2,
		TH_TALLY_BURST + 2 * seconds * TH_TALLY_RATE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_is_made_and_ends_is_counted, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(slots_are_joined, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			makers_are_bounded, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			few_are_all_counted, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			many_are_thinned_without_bias, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			a_process_that_waits_counts_fewer, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			lasting_load_is_bounded, set_up, log_fixture_teardown),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
