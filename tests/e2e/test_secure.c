/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure execution (AT_SECURE), as for a setuid program under a library of /etc/ld.so.preload:
 * the user who starts it controls the variables, but does not have its privileges.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM TH_TEST_BUILD "/tests/programs/secure_linked"
/* User nobody: a real user different from the effective one makes the execution secure. */
#define OTHER_USER "--ruid=65534"

static size_t
count_files(const char *directory)
{
	DIR *list = opendir(directory);
	size_t count = 0;

	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));)
		count += entry->d_name[0] != '.';
	closedir(list);
	return count;
}

static void
run(const char *const *command, const char *setting, const char *directory,
	struct th_outcome *ret)
{
	th_command_run(
		&(struct th_command){
			.arguments = command,
			.environment = TH_WORDS("LD_PRELOAD", "TWINHEAP_FOLLOW=all",
				"TWINHEAP_VERBOSE=1", setting),
			.directory = directory,
		},
		ret);
	assert_int_equal(ret->status, 0);
}

/* No log, descriptor or message; without secure execution there are a log and a message. */
static void
nothing_is_recorded(void **state)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;

	(void)state;
	run(TH_WORDS(PROGRAM), "TWINHEAP_INTERVAL=1k", directory, &outcome);
	assert_int_equal(strncmp(outcome.output, "secure 0\n", 9), 0);
	assert_non_null(strstr(outcome.errors, "recording to"));
	assert_int_equal(count_files(directory), 1);
	th_outcome_deinit(&outcome);

	directory = th_temporary_directory();
	run(TH_WORDS("setpriv", OTHER_USER, PROGRAM), "TWINHEAP_INTERVAL=1k", directory,
		&outcome);
	assert_string_equal(outcome.output, "secure 1\n");
	assert_string_equal(outcome.errors, "");
	assert_int_equal(count_files(directory), 0);
	th_outcome_deinit(&outcome);
}

/* An invalid value is not reported, and a path is not tried. */
static void
variables_are_not_read(void **state)
{
	const char *const settings[] = {
		"TWINHEAP_INTERVAL=x", "TWINHEAP_OUTPUT=/nonexistent/log.thl"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *directory = th_temporary_directory();
		struct th_outcome outcome;

		run(TH_WORDS(PROGRAM), settings[i], directory, &outcome);
		assert_non_null(strstr(outcome.errors, "not recorded"));
		th_outcome_deinit(&outcome);
		run(TH_WORDS("setpriv", OTHER_USER, PROGRAM), settings[i], directory, &outcome);
		assert_string_equal(outcome.output, "secure 1\n");
		assert_string_equal(outcome.errors, "");
		th_outcome_deinit(&outcome);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_recorded),
		cmocka_unit_test(variables_are_not_read),
	};

	if (geteuid() != 0) {
		print_message("secure: needs root, skipped\n");
		return 0;
	}
	return cmocka_run_group_tests_name("secure", tests, NULL, NULL);
}
