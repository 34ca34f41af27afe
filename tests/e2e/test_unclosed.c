/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native memory, and threads, of Java objects that are dropped and not closed: only a GC frees them, such
 * as that at exit of `twinheap run`.  The same program with objects that are kept, or closed.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define SECONDS "7"

/* The report of `leaks` on a recording with all defaults; *status_ret: that of --fail-on leak. */
static json_t *
find_leaks(const struct th_jdk *jdk, const char *way, int *status_ret)
{
	char *log = th_format("%s/%s.thl", th_temporary_directory(), way);
	struct th_outcome outcome;

	free(th_command_output(TH_WORDS(TH_TOOL, "run", "-q", "-o", log, "--", jdk->java, "-cp",
		JAR, "Wrappers", way, SECONDS)));
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "leaks", "--json",
						    "--fail-on", "leak", log)},
		&outcome);
	json_t *report = json_loads(outcome.output, 0, NULL);
	assert_non_null(report);
	*status_ret = outcome.status;
	th_outcome_deinit(&outcome);
	free(log);
	return report;
}

static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static void
expect_unclosed(const struct th_jdk *jdk, const char *way)
{
	int status;
	json_t *report = find_leaks(jdk, way, &status);
	const json_t *finding = json_array_get(json_object_get(report, "findings"), 0);

	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 1);
	assert_string_equal(text_of(finding, "verdict"), "unclosed");
	assert_string_equal(text_of(finding, "wrapper"), "java.util.zip.Deflater");
	assert_string_equal(
		text_of(json_object_get(finding, "creator"), "name"), "Wrappers.send");
	assert_int_equal(status, 1);
	json_decref(report);
}

static void
dropped_is_unclosed(const struct th_jdk *jdk)
{
	expect_unclosed(jdk, "drop");
}

/* Most are freed before the end, by a thread that does little else. */
static void
collected_is_unclosed(const struct th_jdk *jdk)
{
	expect_unclosed(jdk, "collect");
}

static void
kept_is_a_leak(const struct th_jdk *jdk)
{
	int status;
	json_t *report = find_leaks(jdk, "keep", &status);
	const json_t *finding = json_array_get(json_object_get(report, "findings"), 0);

	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 1);
	assert_string_equal(text_of(finding, "verdict"), "leak");
	assert_int_equal(status, 1);
	json_decref(report);
}

/* The threads end up to 1.5 s after the GC. */
static void
late_threads_are_unclosed(const struct th_jdk *jdk)
{
	int status;
	json_t *report = find_leaks(jdk, "poll", &status);
	const json_t *finding = json_array_get(json_object_get(report, "findings"), 0);

	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 1);
	assert_string_equal(text_of(finding, "verdict"), "unclosed");
	assert_string_equal(
		text_of(json_object_get(finding, "creator"), "name"), "Wrappers.startPoll");
	assert_int_equal(status, 1);
	json_decref(report);
}

static void
closed_is_none(const struct th_jdk *jdk)
{
	int status;
	json_t *report = find_leaks(jdk, "close", &status);

	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 0);
	assert_int_not_equal(status, 1);
	json_decref(report);
}

int
main(void)
{
	static const struct th_jdk_test tests[] = {
		{"dropped is unclosed", dropped_is_unclosed, 0},
		{"collected is unclosed", collected_is_unclosed, 0},
		{"kept is a leak", kept_is_a_leak, 0},
		{"late threads are unclosed", late_threads_are_unclosed, 0},
		{"closed is none", closed_is_none, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("unclosed", tests);
}
