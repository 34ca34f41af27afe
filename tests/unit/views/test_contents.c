/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped memory that holds the Java heap or malloc's blocks: recognized by the stack that reserved
 * it, and in no sum over heaps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/log/small_log.h"
#include "tests/unit/views/view_helper.h"

#define HEAP 0x10000000u
#define BITMAP 0x70000000u
#define MIB (1u << 20)

/* Functions of the VM, as addresses in its module. */
enum {
	RESERVE_HEAP = 0x10,
	RESERVE_BITMAP = 0x20,
	G1_COMMIT = 0x30,
	OS_UNCOMMIT = 0x40,
	OS = 0x50
};
/* Stacks. */
enum { RESERVES_HEAP = 1, RESERVES_BITMAP, COMMITS, UNCOMMITS, MALLOC, MMAP };

static void
name(struct log_builder *log, uint64_t offset, const char *function)
{
	log_add_fields(log, TH_EVENT_NATIVE_FRAME, LOG_U64(JVM_FRAME(offset)),
		LOG_U32(MODULE_JVM), LOG_U32(0), LOG_U32(0), LOG_U32(0), LOG_TEXT(function),
		LOG_TEXT(""));
}

static void
map(struct log_builder *log, uint64_t address, uint64_t size, uint32_t stack, uint32_t flags)
{
	log_add_fields(log, TH_EVENT_MAPPED_ALLOC, LOG_U64(LOG_START + 10000000), LOG_U64(size),
		LOG_U64(0), LOG_U64(size), LOG_U32(1), LOG_U32(stack), LOG_U64(address),
		LOG_U32(0), LOG_U32(TH_FUNCTION_MMAP), LOG_U32(TH_MAPPED_TRACKED | flags));
}

static void
begin(struct log_builder *log)
{
	small_log_begin(log);
	add_stack(log, RESERVES_HEAP, JVM_FRAME(OS), JVM_FRAME(RESERVE_HEAP));
	add_stack(log, RESERVES_BITMAP, JVM_FRAME(OS), JVM_FRAME(RESERVE_BITMAP));
	add_stack(log, COMMITS, JVM_FRAME(OS), JVM_FRAME(G1_COMMIT));
	add_stack(log, UNCOMMITS, JVM_FRAME(OS_UNCOMMIT), JVM_FRAME(G1_COMMIT));
	add_stack(log, MALLOC, WORK_FRAME(0x10));
	add_stack(log, MMAP, WORK_FRAME(0x20));
	map(log, HEAP, 64 * MIB, RESERVES_HEAP, TH_MAPPED_RESERVED);
	map(log, BITMAP, 2 * MIB, RESERVES_BITMAP, TH_MAPPED_RESERVED);
	map(log, HEAP, 16 * MIB, COMMITS, 0);
	map(log, BITMAP, MIB, COMMITS, 0);
	/* Four regions are given back, and taken again. */
	map(log, HEAP + 8 * MIB, 4 * MIB, UNCOMMITS, TH_MAPPED_RESERVED);
	map(log, HEAP + 8 * MIB, 3 * MIB, COMMITS, 0);
	map(log, 0x20000000, 5 * MIB, MALLOC, TH_MAPPED_ARENA);
	map(log, 0x30000000, 7 * MIB, MMAP, 0);
	small_log_native(log, 1, MALLOC, 2 * MIB);
	small_log_java(log, 1, 3, 1, 9 * MIB);
	log_add_fields(log, TH_EVENT_BUNDLE, LOG_U64(0), LOG_U64(0), LOG_U64(0), LOG_TEXT("1"),
		LOG_TEXT("here"));
	name(log, RESERVE_HEAP, "ReservedHeapSpace::ReservedHeapSpace");
	name(log, RESERVE_BITMAP, "G1CollectedHeap::create_aux_memory_mapper");
	name(log, G1_COMMIT, "G1PageBasedVirtualSpace::commit");
	name(log, OS_UNCOMMIT, "os::pd_uncommit_memory");
	name(log, OS, "os::pd_commit_memory");
}

static double
live_of(json_t *root, const char *class, const char *contents)
{
	json_t *stacks = json_object_get(root, "stacks");
	double sum = 0;

	for (size_t i = 0; i < json_array_size(stacks); i++) {
		json_t *row = json_array_get(stacks, i);
		const char *name_of = json_string_value(json_object_get(row, "class"));
		const char *holds = json_string_value(json_object_get(row, "contains"));

		if (strcmp(json_string_value(json_object_get(row, "heap")), "mapped") != 0 ||
			strcmp(name_of, class) != 0)
			continue;
		assert_string_equal(holds ? holds : "", contents);
		sum += estimate_of(row, "live_bytes");
	}
	return sum;
}

/* What was given back and taken again belongs to the heap, although its latest owner is G1. */
static void
test_the_reservation_tells_the_purpose(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	show(&shown, &log, NULL);
	json_t *root = show_json(&shown);
	assert_true(live_of(root, "Java heap", "java") == (16 + 3) * MIB);
	assert_true(live_of(root, "collector", "") == MIB);
	assert_true(live_of(root, "arena of malloc", "native") == 5 * MIB);
	assert_true(live_of(root, "memory", "") == 7 * MIB);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* Alone it holds nothing that is counted elsewhere. */
static void
test_a_heap_that_is_not_shown(void **state)
{
	struct log_builder log;
	struct shown shown;

	(void)state;
	begin(&log);
	show(&shown, &log, "--heaps", "mapped", NULL);
	json_t *root = show_json(&shown);
	assert_true(live_of(root, "Java heap", "") == (16 + 3) * MIB);
	assert_true(live_of(root, "arena of malloc", "") == 5 * MIB);
	json_decref(root);
	show_end(&shown);
	log_deinit(&log);
}

/* The sum of the figures at the ends of all lines. */
static double
sum_collapsed(const char *const *options)
{
	struct log_builder log;
	struct shown shown;
	double sum = 0;

	begin(&log);
	show(&shown, &log, "--value", "live-bytes", options[0], options[1], NULL);
	char *text = show_text(&shown, th_view_collapsed);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		sum += strtod(strrchr(line, ' '), NULL);
	free(text);
	show_end(&shown);
	log_deinit(&log);
	return sum;
}

static void
test_sums_count_nothing_twice(void **state)
{
	static const char *const mapped[] = {"--heaps", "mapped"};
	static const char *const all[] = {NULL, NULL};

	(void)state;
	assert_true(sum_collapsed(all) == (9 + 2 + 1 + 7) * MIB);
	assert_true(sum_collapsed(mapped) == (16 + 3 + 1 + 5 + 7) * MIB);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_reservation_tells_the_purpose),
		cmocka_unit_test(test_a_heap_that_is_not_shown),
		cmocka_unit_test(test_sums_count_nothing_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
