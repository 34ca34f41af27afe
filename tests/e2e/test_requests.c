/* SPDX-License-Identifier: Apache-2.0 */
/* `ctl` and `list` during a recording: unprintable paths, and a lock held by another process. */
#include "tests/e2e/harness.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_printable),
		cmocka_unit_test(lock_is_waited_for_with_a_limit),
	};

	return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
