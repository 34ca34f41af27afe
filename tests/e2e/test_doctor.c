/* SPDX-License-Identifier: Apache-2.0 */
/* `twinheap doctor`: what it reports of working and of crippled JVMs, and that it leaves nothing. */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static void
doctor(const char *const *command, const char *const *environment, const char *directory,
	struct th_outcome *ret)
{
	const char *arguments[16] = {TH_TOOL, "doctor"};
	size_t count = 2;

	if (*command)
		arguments[count++] = "--";
	while (*command)
		arguments[count++] = *command++;
	th_command_run(&(struct th_command){.arguments = arguments,
			       .environment = environment,
			       .directory = directory},
		ret);
}

static void
assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void
assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
}

static void
assert_empty(const char *directory)
{
	DIR *list = opendir(directory);
	size_t entries = 0;

	assert_non_null(list);
	while (readdir(list))
		entries++;
	closedir(list);
	assert_int_equal(entries, 2); /* . and .. */
}

static void
everything_works(const struct th_jdk *jdk)
{
	const char *directory = th_temporary_directory();
	char *home = th_format("JAVA_HOME=%s", jdk->home);
	struct th_outcome outcome;

	doctor(TH_WORDS(NULL), TH_WORDS("LD_PRELOAD", home), directory, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_contains(
		outcome.output, "ok    recording  the C heap, mapped memory and a Java VM");
	assert_contains(outcome.output, "ok    HotSpot    bytes allocated by each thread");
	assert_lacks(outcome.output, "LOST");
	assert_lacks(outcome.output, "BAD");
	assert_empty(directory);
	th_outcome_deinit(&outcome);
	free(home);
}

static void
what_is_lost(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	doctor(TH_WORDS(jdk->java, "-XX:-UsePerfData", "-version"), TH_WORDS("LD_PRELOAD"),
		th_temporary_directory(), &outcome);
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.output, "LOST  HotSpot    performance counters");
	th_outcome_deinit(&outcome);
}

static void
nothing_can_be_recorded(const struct th_jdk *jdk)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;

	doctor(TH_WORDS("/nonexistent/command"), NULL, directory, &outcome);
	assert_int_equal(outcome.status, 1);
	assert_contains(outcome.output, "BAD   command    /nonexistent/command: No such file");
	th_outcome_deinit(&outcome);

	doctor(TH_WORDS(jdk->java, "-version"), TH_WORDS("TWINHEAP_LIBRARY=/nonexistent.so"),
		directory, &outcome);
	assert_int_equal(outcome.status, 1);
	assert_contains(outcome.output, "BAD   library    TWINHEAP_LIBRARY=/nonexistent.so");
	th_outcome_deinit(&outcome);
	assert_empty(directory);
}

/* The command's own output and exit status are those of the command. */
static void
without_a_vm(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	(void)jdk;
	doctor(TH_WORDS("sh", "-c", "echo hello; exit 7"), TH_WORDS("LD_PRELOAD"),
		th_temporary_directory(), &outcome);
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.output, "hello\n");
	assert_contains(outcome.output, "sh ended with status 7");
	assert_contains(outcome.output, "no Java VM was started");
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"everything_works", everything_works, 11},
		{"what_is_lost", what_is_lost, 25},
		{"nothing_can_be_recorded", nothing_can_be_recorded, 25},
		{"without_a_vm", without_a_vm, 25},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("doctor", tests);
}
