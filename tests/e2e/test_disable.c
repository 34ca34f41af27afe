/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TWINHEAP_DISABLE=1: the library is loaded and inactive.  No file, no thread, no message, and
 * programs behave as without it.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS TH_TEST_BUILD "/tests/programs"

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
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, setting),
			.directory = directory,
		},
		ret);
	assert_int_equal(ret->status, 0);
}

/* The output equals that without the library, and no file is created. */
static void
entry_points_pass_through(void **state)
{
	const char *const *command = TH_WORDS(PROGRAMS "/native_entry_points");
	const char *directory = th_temporary_directory();
	char *plain = th_command_output(command);
	struct th_outcome outcome;

	(void)state;
	run(command, "TWINHEAP_DISABLE=1", directory, &outcome);
	assert_string_equal(outcome.output, plain);
	assert_string_equal(outcome.errors, "");
	assert_int_equal(count_files(directory), 0);
	th_outcome_deinit(&outcome);
	free(plain);
}

/*
 * A VM has neither our thread nor our file; without the setting it has both, which verifies the
 * check.
 */
static void
vm_without_us(const struct th_jdk *jdk)
{
	const char *const *command = TH_WORDS(
		jdk->java, "-cp", PROGRAMS "/programs.jar", "Look");
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;

	run(command, "TWINHEAP_DISABLE=1", directory, &outcome);
	assert_non_null(strstr(outcome.output, "thread "));
	assert_null(strstr(outcome.output, "twinheap\n"));
	assert_null(strstr(outcome.output, ".thl"));
	assert_string_equal(outcome.errors, "");
	assert_int_equal(count_files(directory), 0);
	th_outcome_deinit(&outcome);

	run(command, "TWINHEAP_DISABLE=0", directory, &outcome);
	assert_non_null(strstr(outcome.output, "thread twinheap\n"));
	assert_non_null(strstr(outcome.output, ".thl\n"));
	assert_int_equal(count_files(directory), 1);
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(entry_points_pass_through)};
	const struct th_jdk_test jdk_tests[] = {
		{"a VM without us", vm_without_us, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("disable", tests, NULL, NULL);

	return failed + th_jdk_run_tests("disable", jdk_tests);
}
