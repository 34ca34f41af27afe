/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers, made of namespaces: every start has the process ids of the one before, and a path
 * names another file inside than outside.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define CHILDREN TH_TEST_BUILD "/tests/programs/process_children"
#define SITES TH_TEST_BUILD "/tests/programs/native_sites"
#define STARTS 4

/* A first process of its own pid namespace, whose number is 1; `before` runs in front of it. */
static void
start(const char *before, const char *command, const char *output, const char *directory)
{
	char *script = th_format("%s; exec env LD_PRELOAD=" TH_LIBRARY " %s", before, command);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(
				"unshare", "--pid", "--fork", "--mount", "sh", "-c", script),
			.environment = TH_WORDS("TWINHEAP_INTERVAL=0", output),
			.directory = directory,
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	th_outcome_deinit(&outcome);
	free(script);
}

static size_t
count_logs(const char *directory)
{
	DIR *list = opendir(directory);
	size_t count = 0;

	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));)
		count += strstr(entry->d_name, ".thl") != NULL;
	closedir(list);
	return count;
}

static void
assert_complete(const char *directory, const char *name)
{
	char *path = th_format("%s/%s", directory, name);
	struct th_dump dump;

	th_dump_init(&dump, path);
	assert_true(th_dump_is_complete(&dump));
	assert_int_equal(th_dump_count(&dump, "process"), 1);
	th_dump_deinit(&dump);
	free(path);
}

/* --- names of logs ---------------------------------------------------------------------------- */

#define WITH_PROC "mount -t proc proc /proc"
#define WITHOUT_PROC "mount -t tmpfs none /proc"

static void
check_starts(const char *before, const char *output, const char *const *names)
{
	const char *directory = th_temporary_directory();

	for (size_t i = 0; i < STARTS; i++) {
		start(before, SITES " 1000 >/dev/null", output, directory);
		assert_int_equal(count_logs(directory), i + 1);
	}
	for (; *names; names++)
		assert_complete(directory, *names);
}

static void
every_start_has_its_log(void **state)
{
	const char *const *pid = TH_WORDS(
		"log.1.thl", "log.1.2.thl", "log.1.3.thl", "log.1.4.thl");
	const char *const *plain = TH_WORDS(
		"log.thl", "log.1.thl", "log.1.2.thl", "log.1.3.thl");

	(void)state;
	check_starts(WITH_PROC, "TWINHEAP_OUTPUT=log.%p.thl", pid);
	check_starts(WITH_PROC, "TWINHEAP_OUTPUT=log.thl", plain);
}

/* Nothing is known there but the number, which the runs before had too. */
static void
every_start_has_its_log_without_proc(void **state)
{
	const char *const *pid = TH_WORDS(
		"log.1.thl", "log.1.2.thl", "log.1.3.thl", "log.1.4.thl");

	(void)state;
	check_starts(WITHOUT_PROC, "TWINHEAP_OUTPUT=log.%p.thl", pid);
}

/* The log of the image before is replaced under its own number; those of other starts are not. */
static void
images_of_one_start_have_one_log(void **state)
{
	const char *directory = th_temporary_directory();

	(void)state;
	for (size_t i = 0; i < STARTS; i++) {
		start(WITH_PROC, CHILDREN " self 3", "TWINHEAP_OUTPUT=log.%p.thl", directory);
		assert_int_equal(count_logs(directory), i + 1);
	}
	assert_complete(directory, "log.1.4.thl");
}

static bool
has_namespaces(void)
{
	struct th_outcome outcome;

	th_command_run(&(struct th_command){.arguments = TH_WORDS("unshare", "--pid", "--fork",
						    "--mount", "--mount-proc", "mount", "-t",
						    "tmpfs", "none", "/mnt")},
		&outcome);
	bool result = outcome.status == 0;
	th_outcome_deinit(&outcome);
	return result;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_start_has_its_log),
		cmocka_unit_test(every_start_has_its_log_without_proc),
		cmocka_unit_test(images_of_one_start_have_one_log),
	};

	if (!has_namespaces()) {
		print_message("namespaces: cannot be made here, skipped\n");
		return 0;
	}
	return cmocka_run_group_tests_name("namespaces", tests, NULL, NULL);
}
