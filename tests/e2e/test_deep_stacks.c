/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks deeper than --depth: the youngest frames are kept, also those that called a native method.
 * What a walk does not read of such a stack: test_java_stack.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
#define OBJECTS 1000

/* Objects whose stack has the native method with Java frames on both sides. */
static double
nested(const struct th_recording *recording, const char *heap, const char *site)
{
	const struct th_stack_filter filter = {.heap = heap,
		.path = TH_WORDS("Deep.recurse", "Java_Deep_call", "Deep.recurse", site)};

	return th_recording_sum(recording, &filter, "alloc_objects").estimate;
}

/* Objects whose stack reaches the start of the thread. */
static double
rooted(const struct th_recording *recording, const char *site)
{
	const struct th_stack_filter filter = {.path = TH_WORDS("java.lang.Thread.run", site)};

	return th_recording_sum(recording, &filter, "alloc_objects").estimate;
}

static void
check(const struct th_jdk *jdk, const char *depth, bool is_whole)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-cp", PROGRAM("programs.jar"), "Deep",
				PROGRAM("libdeep.so"), depth, "1000", "50"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=0"),
		},
		&recording);
	th_recording_load(&recording);
	assert_true(nested(&recording, "java", "Deep.array") == OBJECTS);
	assert_true(nested(&recording, "native", "deep_block") == OBJECTS);
	assert_true((rooted(&recording, "deep_block") == OBJECTS) == is_whole);
	th_recording_deinit(&recording);
}

static void
below_a_native_method(const struct th_jdk *jdk)
{
	check(jdk, "100", true);
	check(jdk, "10000", false);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"below a native method", below_a_native_method, 11},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("deep stacks", tests);
}
