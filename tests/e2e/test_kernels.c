/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that do not say which memory is readable in the way that Linux does, such as sandboxes
 * and emulators: the program is unharmed, and stacks are walked or counted as cut.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
#define REJECT PROGRAM("reject_masks")
#define FORBID PROGRAM("forbid_reading")
#define ASTRAY PROGRAM("native_astray")
/* At the bottom of 200 Java frames, below a native one. */
#define DEEP "-cp", PROGRAM("programs.jar"), "Deep", PROGRAM("libdeep.so"), "200", "1000", "50"

static void
record(const char *const *command, struct th_recording *ret)
{
	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS("TWINHEAP_INTERVAL=0")},
		ret);
	assert_string_equal(ret->outcome.errors, "");
	th_recording_load(ret);
}

static bool
has_note(const char *log, const char *text)
{
	struct th_dump dump;
	bool found = false;

	th_dump_init(&dump, log);
	while (!found && th_dump_next(&dump, "note"))
		found = strstr(dump.line, text) != NULL;
	th_dump_deinit(&dump);
	return found;
}

/* Every block is recorded; walks end at the function without unwind information, or before. */
static void
check_astray(const char *const *command, bool can_ask)
{
	struct th_recording recording;
	struct th_figure figure;

	record(command, &recording);
	figure = th_recording_total(&recording, "native", "alloc_objects");
	assert_true(figure.samples >= 200);
	assert_true(th_recording_counter(&recording, "unwind_stopped") >= 200);
	figure = th_recording_site(&recording, "native", "astray_site", "alloc_objects");
	assert_true(!can_ask || figure.samples == 200);
	assert_int_equal(has_note(recording.log, "which memory is readable"), !can_ask);
	th_recording_deinit(&recording);
}

static void
frame_pointers_that_lead_astray(void **state)
{
	(void)state;
	check_astray(TH_WORDS(ASTRAY), true);
}

static void
without_the_first_way_to_ask(void **state)
{
	(void)state;
	check_astray(TH_WORDS(REJECT, ASTRAY), true);
}

static void
without_any(void **state)
{
	(void)state;
	check_astray(TH_WORDS(REJECT, FORBID, ASTRAY), false);
}

static void
record_java(const char *const *command, struct th_recording *ret)
{
	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS("TWINHEAP_INTERVAL=0")},
		ret);
	th_recording_load(ret);
}

/* Objects at the bottom whose stack holds the native frame between the Java frames. */
static double
nested(const struct th_recording *recording, const char *heap, const char *site)
{
	const struct th_stack_filter filter = {.heap = heap,
		.path = TH_WORDS("Deep.recurse", "Java_Deep_call", "Deep.recurse", site)};

	return th_recording_sum(recording, &filter, "alloc_objects").estimate;
}

/* At sampling interval 0 each object has its whole stack. */
static void
java_without_the_first_way(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_java(TH_WORDS(REJECT, jdk->java, DEEP), &recording);
	assert_true(nested(&recording, "java", "Deep.array") == 1000);
	assert_true(nested(&recording, "native", "deep_block") == 1000);
	assert_false(has_note(recording.log, "which memory is readable"));
	th_recording_deinit(&recording);
}

/* The layout of the VM cannot be checked, so there are no Java frames; every object is recorded. */
static void
java_without_any(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_java(TH_WORDS(REJECT, FORBID, jdk->java, DEEP), &recording);
	assert_true(th_recording_counter(&recording, "java_samples") >= 1000);
	assert_true(th_recording_counter(&recording, "native_samples") >= 1000);
	assert_true(th_recording_counter(&recording, "unwind_stopped") >= 1000);
	assert_true(has_note(recording.log, "which memory is readable"));
	assert_true(has_note(recording.log, "cannot be checked on this kernel"));
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_pointers_that_lead_astray),
		cmocka_unit_test(without_the_first_way_to_ask),
		cmocka_unit_test(without_any),
	};
	const struct th_jdk_test jdk_tests[] = {
		{"without the first way to ask", java_without_the_first_way, 11},
		{"without any way to ask", java_without_any, 11},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("other kernels", tests, NULL, NULL);

	return failed + th_jdk_run_tests("other kernels", jdk_tests);
}
