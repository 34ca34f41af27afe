/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `ctl` and `list` during a recording: unprintable paths, a lock held by another process, and JSON.
 */
#include "tests/e2e/harness.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * $pid sleeps and is recorded to $log; the script ends it.  Its name would set the title of a
 * terminal.
 */
#define RECORDING                                                                 \
	"tool=" TH_TOOL "\n"                                                      \
	"log=$(printf '%s/\\033]0;title\\007.thl' \"$PWD\")\n"                    \
	"LD_PRELOAD=" TH_LIBRARY " TWINHEAP_OUTPUT=\"$log\" sleep 100 & pid=$!\n" \
	"trap 'kill $pid' EXIT\n"                                                 \
	"until $tool ctl $pid 2>/dev/null | grep -q recording; do sleep 0.02; done\n"

static void
run(const char *script, struct th_outcome *ret)
{
	char *whole = th_format("%s%s", RECORDING, script);

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", whole),
			.directory = th_temporary_directory(),
			.timeout_seconds = 60,
		},
		ret);
	free(whole);
}

static void
assert_printable(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' && *text != '\n')
			fail_msg("byte %d in \"%s\"", *text, text);
	}
}

static void
names_are_printable(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run("$tool ctl $pid; $tool ctl \"$log\"; $tool list; $tool ctl \"$log\" stop\n"
	    "$tool rss $pid; $tool live $pid; $tool ctl \"$log\" mark x",
		&outcome);
	assert_non_null(strstr(outcome.output, "recording, log /"));
	assert_non_null(strstr(outcome.output, "title"));
	assert_printable(outcome.output);
	assert_printable(outcome.errors);
	th_outcome_deinit(&outcome);
}

/* A second request waits for the first, but not forever. */
static void
lock_is_waited_for_with_a_limit(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run("exec 9<\"$log\"; flock 9\n"
	    "$tool ctl $pid mark x; echo $?\n"
	    "$tool ctl $pid status | grep -c recording,\n",
		&outcome);
	assert_false(outcome.timed_out);
	assert_string_equal(outcome.output, "3\n1\n");
	assert_non_null(strstr(outcome.errors, "held the lock of the log for 5 s"));
	th_outcome_deinit(&outcome);
}

/* The value of a command whose output is JSON; the caller owns it. */
static json_t *
json_of(const char *script)
{
	struct th_outcome outcome;
	json_error_t problem;

	run(script, &outcome);
	json_t *value = json_loads(outcome.output, 0, &problem);

	if (!value)
		fail_msg("%s: %s in \"%s\", %s", script, problem.text, outcome.output,
			outcome.errors);
	th_outcome_deinit(&outcome);
	return value;
}

static const char *
text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	assert_non_null(text);
	return text;
}

/* Allocates all the time, so that a request takes effect soon. */
#define BUSY                                                                           \
	"kill $pid; LD_PRELOAD=" TH_LIBRARY " TWINHEAP_OUTPUT=busy.thl " TH_TEST_BUILD \
	"/tests/programs/native_sites 1000000000000 & pid=$!\n"                        \
	"until $tool ctl $pid 2>/dev/null | grep -q recording; do sleep 0.02; done\n"

/* After a command, JSON has the state that it leads to; notices are not part of it. */
static void
state_as_json(void **state)
{
	json_t *paused = json_of(BUSY "$tool ctl --json $pid pause");
	json_t *idle = json_of("$tool ctl --json $pid mark x");
	json_t *over = json_of("$tool ctl $pid heaps native >&2 && kill $pid; wait; trap - "
			       "EXIT; $tool ctl \"$log\" "
			       "status --format json");

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(paused, "twinheap")), 1);
	assert_string_equal(text_of(paused, "state"), "paused");
	assert_non_null(strstr(text_of(paused, "log"), ".thl"));
	assert_int_equal(json_array_size(json_object_get(paused, "heaps")), 3);
	assert_true(json_integer_value(json_object_get(
			    json_object_get(paused, "interval_bytes"), "current")) > 0);
	assert_true(json_real_value(json_object_get(
			    json_object_get(paused, "limits"), "cpu_share")) == 0.01);
	assert_string_equal(text_of(idle, "state"), "recording");
	assert_string_not_equal(text_of(over, "state"), "recording");
	assert_true(json_is_null(json_object_get(over, "last_second")));
	json_decref(paused);
	json_decref(idle);
	json_decref(over);
}

static void
list_as_json(void **state)
{
	json_t *listed = json_of("$tool list --json | python3 -c 'import json, sys; pid = "
				 "int(sys.argv[1]); print("
				 "json.dumps([p for p in json.load(sys.stdin)[\"processes\"] "
				 "if p[\"pid\"] == pid]))'"
				 " $pid");
	const json_t *row = json_array_get(listed, 0);

	(void)state;
	assert_int_equal(json_array_size(listed), 1);
	assert_string_equal(text_of(row, "state"), "recorded");
	assert_string_equal(text_of(row, "command"), "sleep 100");
	assert_true(json_is_null(json_object_get(row, "jdk")));
	assert_non_null(strstr(text_of(json_object_get(row, "recording"), "log"), ".thl"));
	json_decref(listed);
}

static void
other_formats_are_refused(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run("$tool list --format yaml; echo $?; $tool ctl $pid --format; echo $?", &outcome);
	assert_string_equal(outcome.output, "2\n2\n");
	assert_non_null(strstr(outcome.errors, "--format yaml: expected text or json"));
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_printable),
		cmocka_unit_test(lock_is_waited_for_with_a_limit),
		cmocka_unit_test(state_as_json),
		cmocka_unit_test(list_as_json),
		cmocka_unit_test(other_formats_are_refused),
	};

	return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
