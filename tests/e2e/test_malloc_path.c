/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What malloc must not do in a program without a Java VM: be a cancellation point, read files,
 * sleep, or wait for a call that a timer interrupts again and again.  Each program runs through
 * several clock reads and growths of its log, and grows by 256 MiB.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM TH_TEST_BUILD "/tests/programs/native_path"
/* More than two seconds: includes the work done once a second. */
#define MS "2500"
#define SKIPPED 77

static void
run(const char *what, const char *interval, json_t **truth_ret)
{
	char *log = th_format("TWINHEAP_OUTPUT=%s/log.thl", th_temporary_directory());
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(PROGRAM, what, MS),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, log, interval),
			.timeout_seconds = 60,
		},
		&outcome);
	assert_false(outcome.timed_out);
	if (outcome.status == SKIPPED)
		skip();
	print_message("%s: %s", what, outcome.output);
	assert_string_equal(outcome.errors, "");
	assert_int_equal(outcome.status, 0);
	*truth_ret = json_loads(outcome.output, 0, NULL);
	assert_non_null(*truth_ret);
	th_outcome_deinit(&outcome);
	free(log);
}

static json_int_t
number(const json_t *truth, const char *name)
{
	return json_integer_value(json_object_get(truth, name));
}

/* Few samples and many: the log grows by some MiB. */
static const char *const intervals[] = {"TWINHEAP_INTERVAL=512k", "TWINHEAP_INTERVAL=8k"};

static void
is_no_cancellation_point(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *truth;

		run("cancel", intervals[i], &truth);
		/* The thread reached its end, and was cancelled there. */
		assert_true(number(truth, "work") > 256);
		assert_int_equal(number(truth, "work"), number(truth, "wanted"));
		json_decref(truth);
	}
}

static void
reads_no_file_and_does_not_sleep(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *truth;

		run("calls", intervals[i], &truth);
		assert_true(number(truth, "work") > 256);
		assert_int_equal(number(truth, "calls"), 0);
		json_decref(truth);
	}
}

static void
ends_under_a_timer(void **state)
{
	json_t *truth;

	(void)state;
	run("timer", intervals[1], &truth);
	assert_int_equal(number(truth, "work"), number(truth, "wanted"));
	json_decref(truth);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_no_cancellation_point),
		cmocka_unit_test(reads_no_file_and_does_not_sleep),
		cmocka_unit_test(ends_under_a_timer),
	};

	return cmocka_run_group_tests_name("malloc path", tests, NULL, NULL);
}
