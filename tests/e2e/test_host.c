/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that do unusual things: fork inside malloc or the loader, lock all memory, close every
 * descriptor and change their user.  They must work as without the library.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define HOST TH_TEST_BUILD "/tests/programs/native_host"
#define INTERRUPTED TH_TEST_BUILD "/tests/programs/libinterrupted.so"

/* Runs native_host under the library; its log is host.thl. */
static void
run_host(const char *const *arguments, const char *const *settings, struct th_outcome *ret,
	const char **directory_ret)
{
	const char *environment[8] = {"LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_OUTPUT=host.thl"};
	size_t count = 2;

	while (*settings)
		environment[count++] = *settings++;
	*directory_ret = th_temporary_directory();
	th_command_run(
		&(struct th_command){
			.arguments = arguments,
			.environment = environment,
			.directory = *directory_ret,
			.timeout_seconds = 120,
		},
		ret);
	if (ret->status != 0)
		fail_msg("%s: status %d, signal %d: %s", arguments[1], ret->status, ret->signal,
			ret->errors);
}

/* A line on stderr */

/* The interval is invalid, which the library reports on stderr. */
static void
check_stderr(const char *way, const char *command, const char *argument)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(HOST, way, TH_LIBRARY, command, argument),
			.environment = TH_WORDS("TWINHEAP_INTERVAL=nonsense"),
			.directory = th_temporary_directory(),
		},
		&outcome);
	if (outcome.status != 0)
		fail_msg("%s: status %d, signal %d", way, outcome.status, outcome.signal);
	th_outcome_deinit(&outcome);
}

static void
nobody_reads_stderr(void **state)
{
	(void)state;
	check_stderr("deaf", "true", NULL);
}

/*
 * A signal of that kind that is pending in the host stays pending, and its mask is unchanged.
 */
static void
nobody_reads_stderr_and_a_signal_is_pending(void **state)
{
	(void)state;
	check_stderr("deaf-pending", HOST, "pending");
}

static void
stderr_has_reached_its_limit(void **state)
{
	(void)state;
	check_stderr("full", "true", NULL);
}

/* Fork */

/* Of two settings with the same name the second one applies. */
static void
fork_in_a_handler_that_interrupted_malloc(void **state)
{
	struct th_outcome outcome;
	const char *directory;

	(void)state;
	run_host(TH_WORDS(HOST, "handler"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "LD_PRELOAD=" TH_LIBRARY ":" INTERRUPTED),
		&outcome, &directory);
	assert_string_equal(outcome.errors, "");
	th_outcome_deinit(&outcome);
}

static void
fork_while_others_hold_locks_of_the_loader(void **state)
{
	struct th_outcome outcome;
	const char *directory;

	(void)state;
	run_host(TH_WORDS(HOST, "loader"), TH_WORDS("TWINHEAP_FOLLOW=all"), &outcome,
		&directory);
	assert_string_equal(outcome.errors, "");
	th_outcome_deinit(&outcome);
}

/* The log */

/* A process with write access to the log may write anything. */
static void
header_that_others_write_to(void **state)
{
	struct th_outcome outcome;
	const char *directory;

	(void)state;
	run_host(TH_WORDS(HOST, "scribble", "host.thl"), TH_WORDS("TWINHEAP_INTERVAL=0"),
		&outcome, &directory);
	assert_string_equal(outcome.output, "alive\n");
	th_outcome_deinit(&outcome);
}

/* Runs "native_host leave WAY", which allocates far more than fits into one mebibyte of log. */
static char *
leave(const char *way)
{
	struct th_outcome outcome;
	const char *directory;

	run_host(TH_WORDS(HOST, "leave", way), TH_WORDS("TWINHEAP_INTERVAL=0"), &outcome,
		&directory);
	th_outcome_deinit(&outcome);
	return th_format("%s/host.thl", directory);
}

static void
check_left_whole(const char *way)
{
	char *log;
	struct th_dump dump;

	if (getuid() != 0)
		skip();
	log = leave(way);
	th_dump_init(&dump, log);
	assert_true(th_dump_is_complete(&dump));
	assert_true(th_dump_count(&dump, "native_alloc") >= 100100);
	assert_true(th_dump_count(&dump, "native_free") >= 100100);
	assert_int_equal(th_dump_counter(&dump, "dropped_log_full"), 0);
	assert_int_equal(th_dump_counter(&dump, "dropped_log_unreachable"), 0);
	th_dump_deinit(&dump);
	free(log);
}

static void
daemon_that_drops_its_user(void **state)
{
	(void)state;
	check_left_whole("user");
}

static void
daemon_that_enters_another_root(void **state)
{
	(void)state;
	check_left_whole("root");
}

/* No file can be opened after the descriptors are closed; losses are counted by cause. */
static void
daemon_that_closes_all_as_another_user(void **state)
{
	char *log, *summary;
	struct th_dump dump;

	(void)state;
	if (getuid() != 0)
		skip();
	log = leave("late");
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", log));
	assert_non_null(strstr(summary, "the program closed the log file"));
	assert_null(strstr(summary, "the log reached its limit"));
	th_dump_init(&dump, log);
	assert_true(th_dump_count(&dump, "native_alloc") > 1000);
	assert_true(th_dump_counter(&dump, "dropped_log_unreachable") > 1000);
	assert_int_equal(th_dump_counter(&dump, "dropped_log_full"), 0);
	th_dump_deinit(&dump);
	free(summary);
	free(log);
}

/* Locked memory */

/* The locked memory printed by "native_host lock", in KiB; -1: mlockall() failed. */
static long
locked(const char *const *arguments, const char *preload)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;
	long kib = -1;

	th_command_check(
		&(struct th_command){
			.arguments = arguments,
			.environment = TH_WORDS(preload, "TWINHEAP_OUTPUT=/tmp/host.%p.thl"),
			.directory = directory,
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	sscanf(outcome.output, "locked: yes\nkib: %ld", &kib);
	print_message("%s: %s", arguments[2] ? arguments[2] : "", outcome.output);
	th_outcome_deinit(&outcome);
	return kib;
}

/*
 * The limit of a user counts address space, whether used or not: a small program stays below 8
 * MiB.
 */
static void
user_locks_all_memory(void **state)
{
	(void)state;
	assert_true(locked(TH_WORDS(HOST, "lock", "limited"), "LD_PRELOAD=") > 0);
	assert_true(locked(TH_WORDS(HOST, "lock", "limited"), "LD_PRELOAD=" TH_LIBRARY) > 0);
}

/* Without a limit all mapped memory is locked; later mappings of the library are not. */
static void
root_locks_all_memory(void **state)
{
	long plain, ours;

	(void)state;
	if (getuid() != 0)
		skip();
	plain = locked(TH_WORDS(HOST, "lock"), "LD_PRELOAD=");
	ours = locked(TH_WORDS(HOST, "lock"), "LD_PRELOAD=" TH_LIBRARY);
	assert_in_range(ours, plain, plain + 5 * 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_reads_stderr),
		cmocka_unit_test(nobody_reads_stderr_and_a_signal_is_pending),
		cmocka_unit_test(stderr_has_reached_its_limit),
		cmocka_unit_test(fork_in_a_handler_that_interrupted_malloc),
		cmocka_unit_test(fork_while_others_hold_locks_of_the_loader),
		cmocka_unit_test(header_that_others_write_to),
		cmocka_unit_test(daemon_that_drops_its_user),
		cmocka_unit_test(daemon_that_enters_another_root),
		cmocka_unit_test(daemon_that_closes_all_as_another_user),
		cmocka_unit_test(user_locks_all_memory),
		cmocka_unit_test(root_locks_all_memory),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
