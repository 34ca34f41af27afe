/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and unloading classes (tests/programs/Churn.java): the library leaves no memory in
 * the VM, methods have names in native stacks, whether their classes stay or not, and the log says
 * once where a package comes from.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
/* Classes of 62 methods, whose method IDs would be 10 MB. */
#define DROPPED "20000"
/* Measured -53 to 11 KB on 17 and 25. */
#define LEFT_MAX (1 << 18)
#define DROPPED_BEFORE "5000"
#define SECONDS "2"

static double
allocated_of(const json_t *truth)
{
	return json_number_value(json_object_get(truth, "allocated"));
}

static double
allocated_plain(const char *const *arguments)
{
	char *output = th_command_output(arguments);
	json_t *truth = json_loads(output, 0, NULL);
	double allocated = allocated_of(truth);

	json_decref(truth);
	free(output);
	return allocated;
}

static void
classes_that_go(const struct th_jdk *jdk)
{
	const char *const *arguments = TH_WORDS(jdk->java, "-Xmx64m", "-Xint",
		"-XX:+UseSerialGC", "-XX:MetaspaceSize=8m", "-XX:NativeMemoryTracking=summary",
		"-cp", JAR, "Churn", "drop", DROPPED);
	double plain = allocated_plain(arguments);
	struct th_recording recording;
	double recorded;

	th_recording_run(&(struct th_recording_plan){.arguments = arguments}, &recording);
	recorded = allocated_of(json_array_get(recording.truth, 0));
	print_message("the VM holds %.0f bytes, %.0f when recorded\n", plain, recorded);
	assert_true(plain > 0);
	assert_true(recorded <= plain + LEFT_MAX);
	th_recording_deinit(&recording);
}

static void
record_kept(const struct th_jdk *jdk, const char *const *words, struct th_recording *ret)
{
	const char *arguments[16] = {
		jdk->java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", JAR, "Churn"};

	for (size_t i = 6; *words; i++)
		arguments[i] = *words++;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = arguments,
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_RATE=0",
				"TWINHEAP_HEAPS=native", "TWINHEAP_SEED=1"),
		},
		ret);
}

static double
kept_samples(const struct th_recording *recording)
{
	return th_recording_site(recording, "native", "Churn$Kept.allocate", "alloc_bytes")
		.samples;
}

/* The first classes of other loaders, also in a program that ends at once. */
static void
first_classes(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_kept(jdk, TH_WORDS("first"), &recording);
	print_message("%.0f samples with their method, %.0f frames without a name\n",
		kept_samples(&recording), th_recording_counter(&recording, "methods_nameless"));
	/* 200 blocks of an interval each: 63 of 100 are sampled. */
	assert_true(kept_samples(&recording) >= 60);
	assert_int_equal(th_recording_counter(&recording, "methods_nameless"), 0);
	th_recording_deinit(&recording);
}

static unsigned
count(const char *text, const char *part)
{
	unsigned found = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		found++;
	return found;
}

/* One record of a package, however many classes and loaders it has. */
static void
expect_one_source(const struct th_recording *recording)
{
	char *dump = th_command_output(TH_WORDS(TH_TOOL, "dump", recording->log));

	assert_int_equal(count(dump, " code_source flags=0x1 package=\"\" "
				     "location=\"file:" JAR "\"\n"),
		1);
	assert_int_equal(count(dump, " package=\"\" "), 1);
	free(dump);
}

static void
classes_that_stay(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_kept(jdk, TH_WORDS("keep", DROPPED_BEFORE, SECONDS), &recording);
	print_message("%.0f samples with their method, %.0f frames without a name\n",
		kept_samples(&recording), th_recording_counter(&recording, "methods_nameless"));
	assert_true(kept_samples(&recording) > 1000);
	assert_int_equal(th_recording_counter(&recording, "methods_nameless"), 0);
	expect_one_source(&recording);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"classes that go", classes_that_go, 0},
		{"first classes of other loaders", first_classes, 0},
		{"classes that stay", classes_that_stay, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("classes", tests);
}
