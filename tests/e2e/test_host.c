/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that do what few programs do: fork where nothing is safe, lock all memory, close every
 * descriptor and leave their user.  They have to go on as if they were alone.
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

/* Runs native_host under the library, its log is host.thl. */
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

/* --- a line on stderr ------------------------------------------------------------------------- */

/* The interval is none, which the library says on stderr. */
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

/* A signal of that kind that the host has pending stays, and its mask is as before. */
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

/* --- fork ------------------------------------------------------------------------------------- */

/* The second of two settings of one name holds. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_reads_stderr),
		cmocka_unit_test(nobody_reads_stderr_and_a_signal_is_pending),
		cmocka_unit_test(stderr_has_reached_its_limit),
		cmocka_unit_test(fork_in_a_handler_that_interrupted_malloc),
		cmocka_unit_test(fork_while_others_hold_locks_of_the_loader),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
