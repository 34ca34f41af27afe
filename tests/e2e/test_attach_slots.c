/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library sees of a process into which it was loaded late: calls through import slots of
 * every kind, none by pointers that were copied before, no block that is alive for ever.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/allocators.h"

#define PROGRAM TH_TEST_BUILD "/tests/programs/late_slots"
/* With a static C++ runtime, and read-only slots. */
#define STATIC_PROGRAM PROGRAM "_static"
#define FORBID TH_TEST_BUILD "/tests/programs/forbid_unsealing"
#define CALLS 1000
/* 0 samples every allocation: figures are counts. */
#define OPTIONS "output=late.thl,interval=0"

static void
record(const char *program, const char *preload, const char *environment,
	struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS(program, TH_LIBRARY, OPTIONS),
			.settings = TH_WORDS(preload, environment)},
		ret);
	free(ret->log);
	ret->log = th_format("%s/late.thl", ret->directory);
	th_recording_load(ret);
}

static double
objects(const struct th_recording *recording, const char *site, const char *value)
{
	return th_recording_site(recording, "native", site, value).estimate;
}

/* Ways whose calls are all seen, and all of whose blocks end. */
static const char *const seen[] = {"by_table", "without_plt", "by_data", "by_new", "by_libc",
	"by_format", "by_line", "by_stdio", "by_directory", "by_realloc"};

/* mimalloc uses the other blocks of a page before it hands out a freed one again. */
static void
check_freed_past(const struct th_recording *recording, int most_alive)
{
	assert_true(objects(recording, "freed_past", "live_objects") <= most_alive);
	assert_true(th_recording_counter(recording, "live_reused") >= CALLS - 1 - most_alive);
}

static void
check(const struct th_recording *recording, int most_alive)
{
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
		double allocated = objects(recording, seen[i], "alloc_objects");

		print_message("%s: %.0f\n", seen[i], allocated);
		/* stdio may allocate a buffer as well. */
		assert_true(allocated >= CALLS);
		assert_true(objects(recording, seen[i], "live_objects") <= 1);
	}
	assert_true(objects(recording, "by_copy", "alloc_objects") == 0);
	assert_true(objects(recording, "by_dlsym", "alloc_objects") == 0);
	assert_true(objects(recording, "leaked", "live_objects") == CALLS);
	check_freed_past(recording, most_alive);
	assert_true(th_recording_counter(recording, "slots") >= 8);
	assert_true(th_recording_counter(recording, "live_frees_lost") == 0);
}

static void
lazy_binding(void **state)
{
	struct th_recording recording;

	(void)state;
	record(PROGRAM, "LD_PRELOAD", "LD_BIND_NOW=", &recording);
	check(&recording, 1);
	th_recording_deinit(&recording);
}

static void
early_binding(void **state)
{
	struct th_recording recording;

	(void)state;
	record(PROGRAM, "LD_PRELOAD", "LD_BIND_NOW=1", &recording);
	check(&recording, 1);
	th_recording_deinit(&recording);
}

static void
static_runtime(void **state)
{
	struct th_recording recording;

	(void)state;
	record(STATIC_PROGRAM, "LD_PRELOAD", "LD_BIND_NOW=", &recording);
	check(&recording, 1);
	th_recording_deinit(&recording);
}

/* Sealed pages keep their protection: another tool may have changed it, and relies on it. */
static void
without_change_of_protection(void **state)
{
	struct th_recording recording;

	(void)state;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(FORBID, STATIC_PROGRAM, TH_LIBRARY, OPTIONS),
			.settings = TH_WORDS("LD_PRELOAD", "LD_BIND_NOW="),
		},
		&recording);
	free(recording.log);
	recording.log = th_format("%s/late.thl", recording.directory);
	th_recording_load(&recording);
	check(&recording, 1);
	th_recording_deinit(&recording);
}

/* The underlying allocator is the preloaded one, not the next after the library. */
static void
other_allocators(void **state)
{
	(void)state;
	for (int i = 0; i < TH_ALLOCATORS; i++) {
		char *path = th_allocator_path(&th_allocators[i]);
		char *preload = th_format("LD_PRELOAD=%s", path ? path : "");
		struct th_recording recording;

		if (path) {
			print_message("%s\n", th_allocators[i].name);
			record(PROGRAM, preload, "LD_BIND_NOW=", &recording);
			check(&recording, CALLS / 2);
			th_recording_deinit(&recording);
		}
		free(preload);
		free(path);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lazy_binding),
		cmocka_unit_test(early_binding),
		cmocka_unit_test(static_runtime),
		cmocka_unit_test(without_change_of_protection),
		cmocka_unit_test(other_allocators),
	};

	return cmocka_run_group_tests_name("import slots", tests, NULL, NULL);
}
