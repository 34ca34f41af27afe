/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers, simulated with namespaces: process ids repeat with every start, and a path names
 * a different file inside than outside.
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

/* Starts a first process of a new pid namespace, with number 1; `before` runs before it. */
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

/* Names of logs */

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

/* Only the process id is known there, and earlier runs had the same. */
static void
every_start_has_its_log_without_proc(void **state)
{
	const char *const *pid = TH_WORDS(
		"log.1.thl", "log.1.2.thl", "log.1.3.thl", "log.1.4.thl");

	(void)state;
	check_starts(WITHOUT_PROC, "TWINHEAP_OUTPUT=log.%p.thl", pid);
}

/* The log of the previous image of the process is replaced; those of other starts are not. */
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

/* Requests to processes in other namespaces */

/*
 * Three recordings at the path /mnt/log.thl: $here, $inside a container, and $below another
 * root directory, which is at /mnt/root.  Process ids are those of the outer namespace.
 */
#define THREE_RECORDINGS                                                                      \
	"tool=" TH_TOOL "\n"                                                                  \
	"sleep='env LD_PRELOAD=" TH_LIBRARY " TWINHEAP_OUTPUT=/mnt/log.thl sleep 100'\n"      \
	"mount -t tmpfs none /mnt && mkdir /mnt/root && mount --bind / /mnt/root || exit 9\n" \
	"mount -t tmpfs none /mnt/root/mnt && mount -t proc proc /mnt/root/proc || exit 9\n"  \
	"$sleep & here=$!\n"                                                                  \
	"chroot /mnt/root $sleep & below=$!\n"                                                \
	"unshare --mount --pid --fork --mount-proc \\\n"                                      \
	"\tsh -c \"mount -t tmpfs none /mnt; exec $sleep\" & container=$!\n"                  \
	"recorded() { $tool ctl $1 2>/dev/null | grep -q recording; }\n"                      \
	"until inside=$(pgrep -P $container) && recorded $inside; do sleep 0.02; done\n"      \
	"until recorded $here && recorded $below; do sleep 0.02; done\n"

/* Runs the rest of a script in a new mount and pid namespace; its output, to be freed. */
static char *
output_of(const char *script)
{
	struct th_outcome outcome;
	char *whole = th_format(THREE_RECORDINGS "%s", script);

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("unshare", "--mount", "--pid", "--fork",
				"--mount-proc", "--kill-child", "sh", "-c", whole),
			.directory = th_temporary_directory(),
			.timeout_seconds = 20,
		},
		&outcome);
	free(whole);
	free(outcome.errors);
	return outcome.output;
}

/* As "1" in its own namespace it would match a process here. */
static void
requests_reach_the_process_that_is_meant(void **state)
{
	char *output = output_of(
		"cp /mnt/log.thl before.here\n"
		"cp /mnt/root/mnt/log.thl before.below\n"
		"$tool ctl $inside mark of-inside >/dev/null\n"
		"cmp before.here /mnt/log.thl && echo untouched\n"
		"cmp before.below /mnt/root/mnt/log.thl && echo untouched\n"
		"grep -q of-inside /proc/$inside/root/mnt/log.thl && echo marked\n"
		"$tool ctl $below mark of-below >/dev/null\n"
		"cmp before.here /mnt/log.thl && echo untouched\n"
		"grep -q of-below /mnt/root/mnt/log.thl && echo marked\n");

	(void)state;
	assert_string_equal(output, "untouched\nuntouched\nmarked\nuntouched\nmarked\n");
	free(output);
}

static void
logs_are_named_by_paths_that_lead_to_them(void **state)
{
	char *output = output_of(
		"for pid in $here $inside $below; do\n"
		"\t$tool ctl $pid | sed -n \"1s/pid $pid,/mine/p\" | sed \"s/$pid/N/\"\n"
		"done\n"
		"$tool ctl /proc/$inside/root/mnt/log.thl | grep -c \"pid $inside, "
		"recording\"\n"
		"$tool list | grep -o '[^ ]*log.thl' | sort | sed \"s/$inside/N/\"\n");

	(void)state;
	assert_string_equal(output, "mine recording, log /mnt/log.thl\n"
				    "mine recording, log /proc/N/root/mnt/log.thl\n"
				    "mine recording, log /mnt/root/mnt/log.thl\n"
				    "1\n"
				    "/mnt/log.thl\n"
				    "/mnt/root/mnt/log.thl\n"
				    "/proc/N/root/mnt/log.thl\n");
	free(output);
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
		cmocka_unit_test(requests_reach_the_process_that_is_meant),
		cmocka_unit_test(logs_are_named_by_paths_that_lead_to_them),
	};

	if (!has_namespaces()) {
		print_message("namespaces: cannot be made here, skipped\n");
		return 0;
	}
	return cmocka_run_group_tests_name("namespaces", tests, NULL, NULL);
}
