/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers of the end-to-end tests, and scripts/run-tests, which counts their results: an
 * incorrect helper makes tests that cannot fail.
 */
#include "tests/e2e/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void
run_shell(const char *script, struct th_outcome *ret)
{
	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", script)}, ret);
}

static void
keeps_both_streams_and_the_status(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run_shell("echo out; echo err >&2; exit 7", &outcome);
	assert_int_equal(outcome.status, 7);
	assert_int_equal(outcome.signal, 0);
	assert_string_equal(outcome.output, "out\n");
	assert_string_equal(outcome.errors, "err\n");
	th_outcome_deinit(&outcome);
}

static void
names_the_signal(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run_shell("kill -SEGV $$", &outcome);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(outcome.signal, SIGSEGV);
	th_outcome_deinit(&outcome);
}

/* More than a pipe's capacity, on both streams: a reader that drained one first would block. */
static void
takes_much_output(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run_shell("head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero", &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.output_bytes, 1000000);
	assert_int_equal(outcome.errors_bytes, 1000000);
	th_outcome_deinit(&outcome);
}

static void
ends_what_takes_too_long(void **state)
{
	struct th_outcome outcome;
	time_t start = time(NULL);

	(void)state;
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", "sleep 60 & sleep 60"),
			.timeout_seconds = 1,
		},
		&outcome);
	assert_true(outcome.timed_out);
	assert_int_equal(outcome.signal, SIGKILL);
	assert_in_range(time(NULL) - start, 0, 50);
	th_outcome_deinit(&outcome);
}

static void
sets_the_environment_and_the_directory(void **state)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;
	char *expected = th_format("two, %s\n", directory);

	(void)state;
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", "echo ${ONE-}$TWO, $(pwd)"),
			.environment = TH_WORDS("ONE=one", "TWO=two", "ONE"),
			.directory = directory,
		},
		&outcome);
	assert_string_equal(outcome.output, expected);
	th_outcome_deinit(&outcome);
	free(expected);
}

/* Two stacks of one site and one of another, with figures that are easy to add by hand. */
static const char *const report_text =
	"{\"sampling\": {\"interval_bytes\": 100}, \"totals\": {\"native\": {\"alloc_bytes\": "
	"{\"estimate\": 700, \"ci95\": [700, 700],"
	" \"samples\": 9, \"exact\": true}}},"
	" \"stacks\": ["
	" {\"heap\": \"native\", \"class\": null, \"thread\": \"main\","
	"  \"frames\": [{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"site\"}],"
	"  \"alloc_bytes\": {\"estimate\": 100, \"ci95\": [70, 140], \"samples\": 4}},"
	" {\"heap\": \"native\", \"class\": null, \"thread\": \"main\","
	"  \"frames\": [{\"name\": \"b\"}, {\"name\": \"a\"}, {\"name\": \"site\"}],"
	"  \"alloc_bytes\": {\"estimate\": 200, \"ci95\": [160, 230], \"samples\": 3}},"
	" {\"heap\": \"java\", \"class\": \"byte[]\", \"thread\": \"other\","
	"  \"frames\": [{\"name\": \"site\"}],"
	"  \"alloc_bytes\": {\"estimate\": 400, \"ci95\": [390, 410], \"samples\": 2}}]}";

static struct th_recording
example_recording(const char *truth)
{
	struct th_recording recording = {
		.report = json_loads(report_text, 0, NULL),
		.truth = json_loads(truth, 0, NULL),
	};

	assert_non_null(recording.report);
	assert_non_null(recording.truth);
	return recording;
}

static void
adds_up_the_stacks_that_fit(void **state)
{
	struct th_recording recording = example_recording("[]");
	struct th_figure sum = th_recording_sum(&recording,
		&(struct th_stack_filter){.heap = "native", .frame = "site"}, "alloc_bytes");

	(void)state;
	assert_true(sum.estimate == 300);
	/* 30 and 40 below, 40 and 30 above: 50 on either side. */
	assert_true(sum.low == 250 && sum.high == 350);
	assert_true(sum.samples == 7);
	sum = th_recording_sum(&recording,
		&(struct th_stack_filter){.path = TH_WORDS("a", "b")}, "alloc_bytes");
	assert_true(sum.estimate == 100);
	sum = th_recording_sum(
		&recording, &(struct th_stack_filter){.class_name = "byte[]"}, "alloc_bytes");
	assert_true(sum.estimate == 400);
	sum = th_recording_sum(
		&recording, &(struct th_stack_filter){.thread = "nobody"}, "alloc_bytes");
	assert_true(sum.estimate == 0 && sum.samples == 0 && sum.low == 0);
	assert_true(sum.high > 368 && sum.high < 370);
	sum = th_recording_total(&recording, "native", "alloc_bytes");
	assert_true(sum.estimate == 700 && sum.exact);
	th_recording_deinit(&recording);
}

static void
knows_what_an_interval_covers(void **state)
{
	struct th_figure figure = {.estimate = 100, .low = 80, .high = 130};

	(void)state;
	assert_true(th_figure_covers(&figure, 81, 1));
	assert_true(th_figure_covers(&figure, 129, 1));
	assert_false(th_figure_covers(&figure, 79, 1));
	assert_false(th_figure_covers(&figure, 131, 1));
	/* Square roots of 8.94, 10 and 11.40: twice as far are 7.89 and 12.80. */
	assert_true(th_figure_covers(&figure, 63, 2));
	assert_false(th_figure_covers(&figure, 61, 2));
	assert_true(th_figure_covers(&figure, 163, 2));
	assert_false(th_figure_covers(&figure, 165, 2));
	/* Nothing was sampled. */
	figure = (struct th_figure){.high = 400};
	assert_true(th_figure_covers(&figure, 0, 2));
	assert_true(th_figure_covers(&figure, 1599, 2));
	assert_false(th_figure_covers(&figure, 1605, 2));
}

/* Scripts/run-tests */

/* A fake test program: a shell script with this text, in a directory of its own. */
static char *
make_program(const char *name, const char *text)
{
	char *path = th_format("%s/%s", th_temporary_directory(), name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	fclose(file);
	assert_int_equal(chmod(path, 0700), 0);
	return path;
}

/* Seconds allowed for a program that is not too slow, on a busy machine. */
#define PATIENCE "60"

/* Runs a fake program through run-tests; its last line must be as expected. */
static void
check_count(const char *text, const char *timeout, const char *last_line, int status)
{
	char *program = make_program("test_stand_in", text);
	char *setting = th_format("TH_TEST_TIMEOUT=%s", timeout);
	struct th_outcome outcome;
	char *end;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(
				TH_TEST_SOURCE "/scripts/run-tests", program, program),
			.environment = TH_WORDS(setting),
		},
		&outcome);
	assert_int_equal(outcome.status, status);
	end = outcome.output + outcome.output_bytes;
	assert_true(outcome.output_bytes > strlen(last_line));
	assert_string_equal(end - strlen(last_line), last_line);
	th_outcome_deinit(&outcome);
	free(setting);
	free(program);
}

/* Every fake program runs twice, so all numbers are even. */
static void
run_tests_counts_what_cmocka_says(void **state)
{
	(void)state;
	check_count("echo '[  PASSED  ] 3 test(s).'", PATIENCE, "\n6 passed, 0 failed\n", 0);
	check_count("echo '[  PASSED  ] 3 test(s).'\n"
		    "echo '[  FAILED  ] group: 2 test(s), listed below:' >&2\n"
		    "echo '[  FAILED  ] one' >&2\nexit 2",
		PATIENCE, "\n6 passed, 4 failed\n", 1);
	check_count("echo '[  PASSED  ] 1 test(s).'\necho '[  PASSED  ] 12 test(s).'", PATIENCE,
		"\n26 passed, 0 failed\n", 0);
}

static void
run_tests_counts_a_death_as_a_failure(void **state)
{
	(void)state;
	check_count("echo '[  PASSED  ] 3 test(s).'\nkill -ABRT $$", PATIENCE,
		"\n6 passed, 2 failed\n", 1);
	check_count("echo '[  PASSED  ] 3 test(s).'\nexit 1", PATIENCE,
		"\n6 passed, 2 failed\n", 1);
	check_count("sleep 30", "1", "\n0 passed, 2 failed\n", 1);
	check_count("exit 0", PATIENCE, "\n0 passed, 2 failed\n", 1);
}

static void
run_tests_names_the_tests_that_failed(void **state)
{
	char *good = make_program("test_good", "echo '[  PASSED  ] 3 test(s).'");
	char *bad = make_program("test_bad",
		"echo '[ RUN      ] good'\necho fine\n"
		"echo '[ RUN      ] early'\necho 'seen 3'\n"
		"echo '[  FAILED  ] early'\n"
		"echo '[  PASSED  ] 1 test(s).'\n"
		"echo '[  FAILED  ] group: 2 test(s), listed below:'\n"
		"echo '[  FAILED  ] early'\necho '[  FAILED  ] late'\nexit 2");
	char *dead = make_program("test_dead", "exit 3");
	struct th_outcome outcome;

	(void)state;
	th_command_run(
		&(struct th_command){.arguments = TH_WORDS(TH_TEST_SOURCE "/scripts/run-tests",
					     good, bad, dead)},
		&outcome);
	assert_int_equal(outcome.status, 1);
	assert_non_null(strstr(outcome.output,
		"\nfailed: test_bad early\n| seen 3\nfailed: test_bad late\n"
		"failed: test_dead (ended with status 3)\n4 passed, 3 failed\n"));
	th_outcome_deinit(&outcome);
	free(good);
	free(bad);
	free(dead);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_both_streams_and_the_status),
		cmocka_unit_test(names_the_signal),
		cmocka_unit_test(takes_much_output),
		cmocka_unit_test(ends_what_takes_too_long),
		cmocka_unit_test(sets_the_environment_and_the_directory),
		cmocka_unit_test(adds_up_the_stacks_that_fit),
		cmocka_unit_test(knows_what_an_interval_covers),
		cmocka_unit_test(run_tests_counts_what_cmocka_says),
		cmocka_unit_test(run_tests_counts_a_death_as_a_failure),
		cmocka_unit_test(run_tests_names_the_tests_that_failed),
	};

	return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}
