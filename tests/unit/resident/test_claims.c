/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims against a table with the first claimant of every address; rows; the regions of glibc's
 * arenas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unify/resident/tables.h"

#define SPACE 512u
#define CLAIMS 40u

static uint32_t
draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* The claim that starts first has precedence; of two that start together, the shorter one. */
static bool
has_precedence(const struct th_claim *a, const struct th_claim *b)
{
	return a->start < b->start || (a->start == b->start && a->end < b->end);
}

static const struct th_claim *
expected_at(const struct th_claim *wanted, uintptr_t address)
{
	const struct th_claim *found = NULL;

	for (uint32_t i = 0; i < CLAIMS; i++) {
		const struct th_claim *claim = &wanted[i];

		if (address >= claim->start && address < claim->end &&
			(!found || has_precedence(claim, found)))
			found = claim;
	}
	return found;
}

static void
check_every_address(const struct th_claims *claims, const struct th_claim *wanted)
{
	uintptr_t at = 0;

	while (at < SPACE) {
		uintptr_t next;
		const struct th_claim *claim = th_claims_at(claims, at, &next);

		assert_true(next > at);
		for (; at < next && at < SPACE; at++) {
			const struct th_claim *expected = expected_at(wanted, at);

			assert_int_equal(!claim, !expected);
			if (claim)
				assert_int_equal(claim->stack, expected->stack);
		}
	}
}

static void
test_claims_that_overlap(void **state)
{
	struct th_claim wanted[CLAIMS], items[CLAIMS];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct th_claims claims = {.items = items, .capacity = CLAIMS};

		for (uint32_t i = 0; i < CLAIMS; i++) {
			uintptr_t start = draw(&seed) % SPACE;

			/* Equal claims cannot be distinguished. */
			wanted[i] = (struct th_claim){
				.start = start,
				.end = start + 1 + draw(&seed) % 40 * CLAIMS + i,
				.name = "",
				.category = TH_MEMORY_OWN,
				.stack = i + 1,
			};
			th_claims_add(&claims, &wanted[i]);
		}
		th_claims_sort(&claims);
		check_every_address(&claims, wanted);
	}
}

static void
test_no_claims_and_too_many(void **state)
{
	struct th_claim item;
	struct th_claims claims = {.items = &item, .capacity = 1};
	const struct th_claim claim = {.start = 10, .end = 20, .category = TH_MEMORY_OWN};
	const struct th_claim empty = {.start = 20, .end = 20, .category = TH_MEMORY_OWN};
	uintptr_t next;

	(void)state;
	th_claims_sort(&claims);
	assert_null(th_claims_at(&claims, 5, &next));
	assert_int_equal(next, UINTPTR_MAX);
	th_claims_add(&claims, &empty);
	assert_int_equal(claims.count, 0);
	th_claims_add(&claims, &claim);
	assert_false(claims.is_full);
	th_claims_add(&claims, &claim);
	assert_true(claims.is_full);
	assert_int_equal(claims.count, 1);
}

/* Rows */

static void
add(struct th_breakdown_rows *rows, const char *name, uint32_t stack, uint64_t resident)
{
	const struct th_event_account_row event = {.category = TH_MEMORY_FILE,
		.stack = stack,
		.resident = resident,
		.size = 2 * resident,
		.mappings = 1};

	th_breakdown_rows_add(rows, &event, name);
}

static uint64_t
sum(const struct th_breakdown_rows *rows)
{
	uint64_t resident = 0;

	for (uint32_t i = 0; i < rows->count; i++)
		resident += rows->items[i].event.resident;
	return resident;
}

static struct th_breakdown_rows
new_rows(void)
{
	return (struct th_breakdown_rows){
		.items = calloc(TH_BREAKDOWN_ROWS_MAX, sizeof(struct th_breakdown_row))};
}

static void
test_rows_add_up(void **state)
{
	struct th_breakdown_rows rows = new_rows();

	(void)state;
	add(&rows, "/a", 0, 100);
	add(&rows, "/b", 0, 10);
	add(&rows, "/a", 0, 1);
	add(&rows, "/a", 7, 1000);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.items[0].event.resident, 101);
	assert_int_equal(rows.items[0].event.mappings, 2);
	assert_int_equal(rows.items[2].event.stack, 7);
	th_breakdown_rows_fold(&rows, TH_MEMORY_FILE, 102, "[small]");
	assert_int_equal(rows.count, 2);
	assert_string_equal(rows.items[1].name, "[small]");
	assert_int_equal(rows.items[1].event.resident, 111);
	assert_int_equal(sum(&rows), 1111);
	free(rows.items);
}

/* More names than rows: only names are lost. */
static void
test_more_rows_than_fit(void **state)
{
	struct th_breakdown_rows rows = new_rows();
	char name[32];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "/file/%d", i);
		add(&rows, name, 0, 3);
	}
	assert_true(rows.is_full);
	assert_true(rows.count <= TH_BREAKDOWN_ROWS_MAX);
	assert_int_equal(sum(&rows), 15000);
	free(rows.items);
}

static void
test_a_name_longer_than_a_row_holds(void **state)
{
	struct th_breakdown_rows rows = new_rows();
	char name[1000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add(&rows, name, 0, 1);
	add(&rows, name, 0, 1);
	assert_int_equal(rows.count, 1);
	assert_int_equal(strlen(rows.items[0].name), TH_MAPPING_PATH_MAX - 1);
	free(rows.items);
}

/* Arenas */

static void *
allocate_on_thread(void *argument)
{
	(void)argument;
	return malloc(1000);
}

/* A new thread has its own arena. */
static void
test_the_heap_of_an_arena(void **state)
{
	pthread_t thread;
	void *block;
	uintptr_t end;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* malloc is the sanitizer's */
#endif
	if (getenv("TH_TEST_RUNNER"))
		skip(); /* qemu-user has no process_vm_readv */
	mallopt(M_ARENA_MAX, 8);
	assert_int_equal(pthread_create(&thread, NULL, allocate_on_thread, NULL), 0);
	pthread_join(thread, &block);
	uintptr_t address = (uintptr_t)block;
	uintptr_t region = address & -TH_GLIBC_ARENA_HEAP_BYTES;
	assert_true(th_glibc_arena_heap_at(region, &end));
	assert_true(end > address && end - region <= TH_GLIBC_ARENA_HEAP_BYTES);
	assert_false(th_glibc_arena_heap_at(region + 4096, &end));
	free(block);
}

static void
test_other_memory_is_no_arena(void **state)
{
	size_t bytes = 2 * TH_GLIBC_ARENA_HEAP_BYTES;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t region;
	uintptr_t end;
	uint32_t seed = 7;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	region = ((uintptr_t)memory + TH_GLIBC_ARENA_HEAP_BYTES - 1) &
		 -TH_GLIBC_ARENA_HEAP_BYTES;
	assert_false(th_glibc_arena_heap_at(region, &end));
	for (int round = 0; round < 1000; round++) {
		uint32_t *words = (uint32_t *)region;

		for (int i = 0; i < 8; i++)
			words[i] = draw(&seed) << 8;
		assert_false(th_glibc_arena_heap_at(region, &end));
	}
	munmap(memory, bytes);
	assert_false(th_glibc_arena_heap_at(region, &end));
	assert_false(th_glibc_arena_heap_at(0, &end));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims_that_overlap),
		cmocka_unit_test(test_no_claims_and_too_many),
		cmocka_unit_test(test_rows_add_up),
		cmocka_unit_test(test_more_rows_than_fit),
		cmocka_unit_test(test_a_name_longer_than_a_row_holds),
		cmocka_unit_test(test_the_heap_of_an_arena),
		cmocka_unit_test(test_other_memory_is_no_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
