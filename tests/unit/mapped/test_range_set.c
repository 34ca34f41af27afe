/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges against a trivially correct model: an array with one entry for each address of
 * a small space.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unify/mapped/range_set.h"
#include "unify/sample/poisson.h"

#define SPACE 400
/* One per address, as many again while ranges move, and the unused first node. */
#define NODES TH_RANGE_SET_CHUNK
_Static_assert(NODES > 2 * SPACE, "they are in one chunk");
#define OPERATIONS 1000000
/* A full comparison takes as long as fifty operations. */
#define COMPARE_EVERY 32

/* Helpers */

struct cell {
	uint64_t sample;
	uint64_t born;
	uint32_t owner; /* 0 = empty */
	uint32_t flags;
};

struct state {
	struct th_range_set ranges;
	struct cell cells[SPACE];
	struct th_random random;
	uint64_t born;
};

static struct state state;

static void
start_empty(uint32_t capacity)
{
	th_range_set_deinit(&state.ranges);
	memset(&state, 0, sizeof(state));
	th_range_set_init(&state.ranges, capacity);
	th_random_seed(&state.random, 20260101);
}

static struct th_range
range_of(uintptr_t start, uintptr_t end, uint32_t owner)
{
	return (struct th_range){.start = start, .end = end, .owner = owner};
}

static bool
put(uintptr_t start, uintptr_t end, uint32_t owner)
{
	struct th_range range = range_of(start, end, owner);

	return th_range_set_put(&state.ranges, &range, false);
}

static bool
is_owned(const struct th_range *range, uint64_t owner)
{
	return !owner || range->owner == owner;
}

/* Those of an owner; 0: of all. */
static struct th_range_list
take(uintptr_t start, uintptr_t end, uint32_t owner)
{
	return th_range_set_cut(&state.ranges, start, end, is_owned, owner);
}

static void
cut(uintptr_t start, uintptr_t end)
{
	th_range_set_release(&state.ranges, take(start, end, 0));
}

static uint32_t
count_ranges(void)
{
	const struct th_range *range;
	uint32_t count = 0;

	for (uintptr_t at = 0; (range = th_range_set_find(&state.ranges, at)); at = range->end)
		count++;
	return count;
}

static uint64_t
choose(uint64_t count)
{
	return th_random_next(&state.random) % count;
}

static void
assert_range(const struct th_range *range, uintptr_t start, uintptr_t end, uint32_t owner)
{
	assert_non_null(range);
	assert_int_equal(range->start, start);
	assert_int_equal(range->end, end);
	assert_int_equal(range->owner, owner);
}

/* Single operations */

static void
test_hole_leaves_both_sides(void **unused)
{
	(void)unused;
	start_empty(NODES);
	assert_true(put(10, 90, 1));
	struct th_range_list list = take(40, 50, 0);

	assert_range(th_range_set_at(&state.ranges, list.first), 40, 50, 1);
	assert_int_equal(th_range_set_after(&state.ranges, list.first), 0);
	assert_range(th_range_set_find(&state.ranges, 0), 10, 40, 1);
	assert_range(th_range_set_find(&state.ranges, 40), 50, 90, 1);
	assert_null(th_range_set_find(&state.ranges, 90));
	assert_int_equal(count_ranges(), 2);
}

static void
test_cut_of_nothing_is_empty(void **unused)
{
	(void)unused;
	start_empty(NODES);
	assert_true(put(10, 20, 1));
	assert_int_equal(take(20, 30, 0).first, 0);
	assert_int_equal(take(0, 10, 0).first, 0);
	assert_int_equal(count_ranges(), 1);
}

static void
test_list_ascends(void **unused)
{
	uintptr_t expected = 0;

	(void)unused;
	start_empty(NODES);
	for (uintptr_t i = 0; i < 100; i++)
		assert_true(put(i * 37 % 100, i * 37 % 100 + 1, 1));
	struct th_range_list list = take(0, SPACE, 0);
	for (uint32_t i = list.first; i; i = th_range_set_after(&state.ranges, i), expected++)
		assert_range(th_range_set_at(&state.ranges, i), expected, expected + 1, 1);
	assert_int_equal(expected, 100);
	assert_int_equal(count_ranges(), 0);
}

static void
test_neighbours_join_only_when_alike(void **unused)
{
	struct th_range range = range_of(20, 30, 1);

	(void)unused;
	start_empty(NODES);
	assert_true(put(10, 20, 1));
	assert_true(put(40, 50, 2));
	assert_true(th_range_set_put(&state.ranges, &range, true));
	assert_range(th_range_set_find(&state.ranges, 0), 10, 30, 1);
	range = range_of(30, 40, 2);
	assert_true(th_range_set_put(&state.ranges, &range, true));
	assert_range(th_range_set_find(&state.ranges, 30), 30, 50, 2);
	assert_int_equal(count_ranges(), 2);
}

static void
test_full_table_refuses_and_counts(void **unused)
{
	(void)unused;
	start_empty(3); /* two nodes */
	assert_true(put(10, 20, 1));
	assert_true(put(30, 60, 2));
	assert_false(put(70, 80, 3));
	cut(40, 50);
	assert_int_equal(state.ranges.lost, 1);
	assert_range(th_range_set_find(&state.ranges, 30), 30, 40, 2);
	assert_null(th_range_set_find(&state.ranges, 40));
	cut(0, SPACE);
	assert_true(put(10, 20, 1));
	assert_true(put(30, 40, 1));
}

static void
test_sample_goes_to_one_birth(void **unused)
{
	struct th_range old = range_of(10, 20, 1);
	struct th_range new = range_of(20, 50, 1);

	(void)unused;
	start_empty(NODES);
	new.born = 7;
	assert_true(th_range_set_put(&state.ranges, &old, false));
	assert_true(th_range_set_put(&state.ranges, &new, false));
	cut(30, 35);
	assert_int_equal(th_range_set_set_sample(&state.ranges, 10, 50, 7, 99), 25);
	assert_int_equal(th_range_set_find(&state.ranges, 10)->sample, 0);
	assert_int_equal(th_range_set_find(&state.ranges, 20)->sample, 99);
	assert_int_equal(th_range_set_find(&state.ranges, 40)->sample, 99);
}

/* A range that stays is not cut, either. */
static void
test_others_stay(void **unused)
{
	(void)unused;
	start_empty(NODES);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(put(10 * i, 10 * i + 10, 1 + i % 2));
	struct th_range_list list = take(5, 45, 2);
	assert_range(th_range_set_at(&state.ranges, list.first), 10, 20, 2);
	assert_range(th_range_set_at(&state.ranges, list.last), 30, 40, 2);
	th_range_set_release(&state.ranges, list);
	assert_int_equal(count_ranges(), 4);
	assert_range(th_range_set_find(&state.ranges, 0), 0, 10, 1);
	assert_range(th_range_set_find(&state.ranges, 10), 20, 30, 1);
	assert_range(th_range_set_find(&state.ranges, 30), 40, 50, 1);
	assert_range(th_range_set_find(&state.ranges, 50), 50, 60, 2);
}

/* Against the model */

static bool
is_same(const struct cell *cell, const struct th_range *range)
{
	return cell->sample == range->sample && cell->owner == range->owner &&
	       cell->flags == range->flags;
}

/* The first cell from `at` on, before `end`, that a cut of an owner takes. */
static uintptr_t
next_taken(uintptr_t at, uintptr_t end, uint32_t owner)
{
	while (at < end &&
		(!state.cells[at].owner || (owner && state.cells[at].owner != owner)))
		at++;
	return at;
}

/* The list of a cut matches the model, in order; removes it from the model. */
static void
compare_list(struct th_range_list list, uintptr_t start, uintptr_t end, uint32_t owner)
{
	uintptr_t at = next_taken(start, end, owner);

	for (uint32_t i = list.first; i; i = th_range_set_after(&state.ranges, i)) {
		const struct th_range *range = th_range_set_at(&state.ranges, i);

		assert_int_equal(range->start, at);
		assert_true(range->end <= end);
		for (; at < range->end; at++) {
			assert_true(is_same(&state.cells[at], range));
			state.cells[at] = (struct cell){0};
		}
		at = next_taken(at, end, owner);
	}
	assert_int_equal(at, end);
}

static void
compare_all(void)
{
	const struct th_range *range;
	uintptr_t at = 0;
	uint32_t count = 0;

	while ((range = th_range_set_find(&state.ranges, at))) {
		assert_true(range->start >= at && range->end > range->start);
		for (; at < range->start; at++)
			assert_int_equal(state.cells[at].owner, 0);
		for (; at < range->end; at++)
			assert_true(is_same(&state.cells[at], range));
		count++;
	}
	for (; at < SPACE; at++)
		assert_int_equal(state.cells[at].owner, 0);
	assert_int_equal(count, count_ranges());
}

static void
remove_some(uintptr_t start, uintptr_t end, uint32_t owner)
{
	struct th_range_list list = take(start, end, owner);

	compare_list(list, start, end, owner);
	th_range_set_release(&state.ranges, list);
}

static void
map_some(uintptr_t start, uintptr_t end)
{
	struct th_range range = range_of(start, end, 1 + (uint32_t)choose(3));

	range.sample = choose(3);
	range.flags = (uint32_t)choose(2);
	range.born = ++state.born;
	remove_some(start, end, 0);
	assert_true(th_range_set_put(&state.ranges, &range, choose(2)));
	for (uintptr_t at = start; at < end; at++)
		state.cells[at] = (struct cell){
			range.sample, range.born, range.owner, range.flags};
}

/* As mremap: the pieces move with their attributes. */
static void
move_some(uintptr_t start, uintptr_t end)
{
	uintptr_t to = choose(SPACE - (end - start));
	struct cell moved[SPACE];
	struct th_range_list list = take(start, end, 0);

	memcpy(moved, state.cells + start, (end - start) * sizeof(*moved));
	compare_list(list, start, end, 0);
	remove_some(to, to + (end - start), 0);
	bool joins = choose(2);
	for (uint32_t next, i = list.first; i; i = next) {
		struct th_range range = *th_range_set_at(&state.ranges, i);

		next = th_range_set_after(&state.ranges, i);
		th_range_set_release(&state.ranges, (struct th_range_list){i, i});
		range.start = range.start - start + to;
		range.end = range.end - start + to;
		assert_true(th_range_set_put(&state.ranges, &range, joins));
	}
	memcpy(state.cells + to, moved, (end - start) * sizeof(*moved));
}

/* A million maps, unmaps and moves, with enough nodes. */
static void
test_model(void **unused)
{
	(void)unused;
	start_empty(NODES);
	for (int i = 0; i < OPERATIONS; i++) {
		uintptr_t start = choose(SPACE - 1);
		uintptr_t longest = choose(8) ? 12 : SPACE - start;
		uintptr_t bytes = 1 + choose(longest < SPACE - start ? longest : SPACE - start);
		uint64_t what = choose(10);

		if (what < 6)
			map_some(start, start + bytes);
		else if (what < 9)
			remove_some(start, start + bytes, (uint32_t)choose(4));
		else
			move_some(start, start + bytes);
		if (i % COMPARE_EVERY == 0)
			compare_all();
	}
	compare_all();
	assert_int_equal(state.ranges.lost, 0);
}

/* Copies */

/* qemu-user has no process_vm_readv. */
static void
skip_under_emulator(void)
{
	if (getenv("TH_TEST_RUNNER"))
		skip();
}

static struct th_range_set copy;

static void
copy_set(void)
{
	if (!copy.capacity)
		th_range_set_init(&copy, NODES);
	assert_true(th_range_set_observe(&copy, &state.ranges));
}

static void
test_copy_is_the_same(void **unused)
{
	const struct th_range *range, *other;

	(void)unused;
	skip_under_emulator();
	start_empty(NODES);
	for (int i = 0; i < 1000; i++)
		map_some(choose(SPACE / 2), SPACE / 2 + choose(SPACE / 2));
	for (int i = 0; i < 100; i++) {
		uintptr_t start = choose(SPACE - 12);

		map_some(start, start + 1 + choose(12));
	}
	copy_set();
	assert_int_equal(copy.count, count_ranges());
	for (uintptr_t at = 0; (range = th_range_set_find(&state.ranges, at));
		at = range->end) {
		other = th_range_set_find(&copy, at);
		assert_ptr_not_equal(range, other);
		assert_memory_equal(range, other, sizeof(*range));
	}
	start_empty(NODES);
	copy_set();
	assert_null(th_range_set_find(&copy, 0));
}

/* For any contents of nodes and order the result is a set of ordered, disjoint ranges. */
static void
test_copy_of_nonsense(void **unused)
{
	const struct th_range *range;

	(void)unused;
	skip_under_emulator();
	start_empty(NODES);
	for (uintptr_t i = 0; i < SPACE; i++)
		put(i, i + 1, 1);
	for (int i = 0; i < 1000; i++) {
		uintptr_t taken = 0;

		for (uint32_t k = 0; k < NODES; k++) {
			state.ranges.chunks[0][k].range = range_of(
				choose(SPACE), choose(SPACE), 1);
			state.ranges.order[k] = (uint32_t)choose(i % 2 ? NODES : UINT32_MAX);
		}
		copy_set();
		while ((range = th_range_set_find(&copy, taken))) {
			assert_true(range->start >= taken && range->start < range->end);
			taken = range->end;
		}
	}
	state.ranges.count = NODES + 1;
	assert_false(th_range_set_observe(&copy, &state.ranges));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hole_leaves_both_sides),
		cmocka_unit_test(test_cut_of_nothing_is_empty),
		cmocka_unit_test(test_list_ascends),
		cmocka_unit_test(test_neighbours_join_only_when_alike),
		cmocka_unit_test(test_full_table_refuses_and_counts),
		cmocka_unit_test(test_sample_goes_to_one_birth),
		cmocka_unit_test(test_others_stay),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_copy_is_the_same),
		cmocka_unit_test(test_copy_of_nonsense),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
