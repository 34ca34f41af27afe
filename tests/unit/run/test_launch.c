/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `run`: its messages and actions before and while the command runs.  Commands that
 * cannot be preloaded: test_launch_target.c.  Logs: test_launch_logs.c.
 */
#include "tests/unit/run/launch_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Exit status */

static void
test_exit_status_is_the_command_s(void **state)
{
	(void)state;
	RUN("-q", "true");
	assert_int_equal(launched.status, 0);
	RUN("-q", "--", "sh", "-c", "exit 7");
	assert_int_equal(launched.status, 7);
	RUN("-q", "sh", "-c", "kill -KILL $$");
	assert_int_equal(launched.status, 128 + SIGKILL);
	assert_string_equal(launched.err, "");
}

static void
test_death_by_signal_is_said(void **state)
{
	(void)state;
	RUN("sh", "-c", "kill -KILL $$");
	assert_int_equal(launched.status, 128 + SIGKILL);
	assert_contains(launched.err, "sh was killed by signal 9 (Killed)");
}

static void
test_commands_that_cannot_be_started(void **state)
{
	(void)state;
	close(creat("plain", 0644));
	RUN("no-such-command-anywhere");
	assert_launch_refused(127, "no-such-command-anywhere: command not found");
	RUN("./nothing-here");
	assert_launch_refused(127, "./nothing-here: No such file or directory");
	RUN("plain/below");
	assert_launch_refused(127, "No such file");
	RUN("./plain");
	assert_launch_refused(126, "./plain: Permission denied");
	RUN("/tmp");
	assert_launch_refused(126, "/tmp: Is a directory");
	RUN("");
	assert_launch_refused(127, "not found");
}

/* Detected only by the kernel: the interpreter of a script is missing. */
static void
test_failure_of_exec_is_reported(void **state)
{
	(void)state;
	write_script("orphan", "#!/nowhere/interpreter\n");
	RUN("./orphan");
	assert_launch_refused(127, "./orphan: No such file or directory");
}

/* Like execvp(): a script without a first line is run by the shell. */
static void
test_script_without_interpreter_line(void **state)
{
	(void)state;
	write_script("bare", "exit 3\n");
	RUN("-q", "./bare");
	assert_int_equal(launched.status, 3);
}

/* Options */

static void
test_options_that_are_refused(void **state)
{
	static const char *const cases[][3] = {
		{"--interval", "12q", "--interval 12q: not a size"},
		{"-i", "-5", "not a size"},
		{"-i", "", "not a size"},
		{"-i", "2G", "out of range, expected 0 to 2147483647"},
		{"--depth", "0", "out of range, expected 1 to 2048"},
		{"--depth", "2049", "out of range"},
		{"--depth", "2k", "not a number"},
		{"--heaps", "jav",
			"--heaps jav: not one of the choices, expected "
			"all|both|java|native|mapped"},
		{"--heaps", "java|native", "not one of the choices"},
		{"--follow", "", "not one of the choices"},
		{"--output", "", "--output : empty"},
		{"-r", "12k", "not a number"},
		{"--rate", "1000001", "out of range"},
		{"--nonsense", "5", "--nonsense: unknown option"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		RUN((char *)cases[i][0], (char *)cases[i][1], "echo", "started");
		assert_launch_refused(2, cases[i][2]);
	}
	RUN("--depth");
	assert_launch_refused(2, "--depth: needs an argument");
	RUN("-q");
	assert_launch_refused(2, "no command given");
}

static void
test_values_that_are_taken(void **state)
{
	static const char *const cases[][2] = {{"-i", "0"}, {"-i", "2147483647"},
		{"-i", "2MiB"}, {"--depth", "1"}, {"--depth", "2048"}, {"--heaps", "native"},
		{"--follow", "none"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		RUN("-q", (char *)cases[i][0], (char *)cases[i][1], "echo", "started");
		assert_string_equal(launched.out, "started\n");
	}
}

static void
test_variables_are_checked_too(void **state)
{
	(void)state;
	setenv("TWINHEAP_INTERVAL", "many", 1);
	RUN("echo", "started");
	assert_launch_refused(2, "TWINHEAP_INTERVAL=many: not a size");
	unsetenv("TWINHEAP_INTERVAL");
	setenv("TWINHEAP_MAX_LOG", "300k", 1);
	RUN("echo", "started");
	assert_launch_refused(2, "TWINHEAP_MAX_LOG=300k: out of range, expected at least 1M");
	unsetenv("TWINHEAP_MAX_LOG");
	setenv("TWINHEAP_INTERVAL", "many", 1);
	RUN("-q", "-i", "1M", "echo", "started");
	assert_string_equal(launched.out, "started\n");
	setenv("TWINHEAP_INTERVAL", "", 1);
	RUN("-q", "echo", "started");
	assert_string_equal(launched.out, "started\n");
	unsetenv("TWINHEAP_INTERVAL");
}

/* Environment */

static void
test_environment_of_the_command(void **state)
{
	char expected[3 * PATH_MAX];
	char script[] =
		"echo \"$LD_PRELOAD|$TWINHEAP_OUTPUT|$TWINHEAP_INTERVAL|$TWINHEAP_HEAPS|"
		"${TWINHEAP_DEPTH-unset}\"";

	(void)state;
	RUN("-q", "-i", "2M", "--heaps", "java", "sh", "-c", script);
	snprintf(expected, sizeof(expected), "%s|%s/twinheap.%%p.thl|2M|java|unset\n",
		launch_library, launch_directory);
	assert_string_equal(launched.out, expected);
	assert_null(getenv("LD_PRELOAD"));
}

/* A budget of `run`'s own, unless something else determines the number of samples. */
static void
test_budget_of_the_command(void **state)
{
	char script[] = "echo ${TWINHEAP_MAX_OVERHEAD-unset}";

	(void)state;
	RUN("-q", "sh", "-c", script);
	assert_string_equal(launched.out, "2%\n");
	RUN("-q", "--max-overhead", "3%", "sh", "-c", script);
	assert_string_equal(launched.out, "3%\n");
	RUN("-q", "-i", "2M", "sh", "-c", script);
	assert_string_equal(launched.out, "unset\n");
	setenv("TWINHEAP_RATE", "100", 1);
	RUN("-q", "sh", "-c", script);
	unsetenv("TWINHEAP_RATE");
	assert_string_equal(launched.out, "unset\n");
}

static void
test_earlier_preload_is_kept(void **state)
{
	char expected[3 * PATH_MAX];

	(void)state;
	setenv("LD_PRELOAD", launch_library, 1);
	RUN("-q", "sh", "-c", "echo $LD_PRELOAD");
	unsetenv("LD_PRELOAD");
	snprintf(expected, sizeof(expected), "%s:%s\n", launch_library, launch_library);
	assert_string_equal(launched.out, expected);
}

static void
test_output_becomes_absolute(void **state)
{
	char expected[PATH_MAX];

	(void)state;
	assert_int_equal(mkdir("100%p", 0755), 0);
	assert_int_equal(chdir("100%p"), 0);
	RUN("-q", "-o", "x-%h.thl", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	assert_int_equal(chdir(launch_directory), 0);
	snprintf(expected, sizeof(expected), "%s/100%%%%p/x-%%h.thl\n", launch_directory);
	assert_string_equal(launched.out, expected);
	RUN("-q", "-o", "/tmp/%p", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	assert_string_equal(launched.out, "/tmp/%p\n");
	setenv("TWINHEAP_OUTPUT", "by-variable", 1);
	RUN("-q", "sh", "-c", "echo $TWINHEAP_OUTPUT");
	unsetenv("TWINHEAP_OUTPUT");
	snprintf(expected, sizeof(expected), "%s/by-variable\n", launch_directory);
	assert_string_equal(launched.out, expected);
}

static void
test_library_that_is_missing(void **state)
{
	char path[PATH_MAX];

	(void)state;
	setenv("TWINHEAP_LIBRARY", "/nowhere/lib.so", 1);
	RUN("echo", "started");
	assert_launch_refused(2, "TWINHEAP_LIBRARY=/nowhere/lib.so: No such file or directory");
	/* as if unset: it is not in the directory of this program */
	setenv("TWINHEAP_LIBRARY", "", 1);
	RUN("echo", "started");
	assert_launch_refused(2, "libtwinheap.so is neither in the directory of the tool nor");
	assert_int_equal(mkdir("with blank", 0755), 0);
	close(creat("with blank/lib.so", 0644));
	snprintf(path, sizeof(path), "%s/with blank/lib.so", launch_directory);
	setenv("TWINHEAP_LIBRARY", path, 1);
	RUN("echo", "started");
	assert_launch_refused(2, "LD_PRELOAD cannot name a path with a space");
	setenv("TWINHEAP_LIBRARY", launch_library, 1);
}

/* The name of the log */

static void
test_outputs_that_are_refused(void **state)
{
	(void)state;
	close(creat("taken.thl", 0644));
	RUN("-o", "taken.thl", "echo", "started");
	assert_launch_refused(2, "taken.thl: already exists");
	RUN("-o", "/nowhere/x.thl", "echo", "started");
	assert_launch_refused(2, "/nowhere/x.thl: the directory of the log does not exist");
	RUN("-o", "taken.thl/x", "echo", "started");
	assert_launch_refused(2, "directory");
	RUN("-o", launch_directory, "echo", "started");
	assert_launch_refused(2, "a directory, not a name");
	RUN("-o", "./", "echo", "started");
	assert_launch_refused(2, "a directory, not a name");
	RUN("-q", "-o", "taken.%p.thl", "echo", "started");
	assert_int_equal(launched.status, 0);
}

static void
test_directory_that_is_not_writable(void **state)
{
	(void)state;
	assert_int_equal(mkdir("closed", 0555), 0);
	launch_is_unprivileged = true; /* root may write anywhere */
	RUN("-o", "closed/x.thl", "echo", "started");
	launch_is_unprivileged = false;
	assert_launch_refused(2, "not writable");
}

/* Signals */

static void
await_file(const char *path)
{
	for (int i = 0; access(path, F_OK) != 0; i++) {
		assert_true(i < 1000);
		usleep(10000);
	}
}

static void
test_signals_are_passed_on(void **state)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1};

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		char script[] = "trap 'exit 41' TERM; trap 'exit 42' HUP; trap 'exit 43' INT;"
				"trap 'exit 44' QUIT; trap 'exit 45' USR1; touch ready;"
				"for i in $(seq 200); do sleep 0.02; done";
		static const int statuses[] = {41, 42, 43, 44, 45};
		pid_t child;

		unlink("ready");
		child = launch_start((char *[]){"run", "-q", "sh", "-c", script, NULL});
		await_file("ready");
		kill(child, signals[i]);
		launch_finish(child);
		assert_int_equal(launched.status, statuses[i]);
	}
}

/* The command starts with the signal mask and dispositions that the launcher was given. */
static void
test_signals_of_the_command_are_untouched(void **state)
{
	char text[LAUNCH_TEXT_MAX];

	(void)state;
	signal(SIGUSR2, SIG_IGN);
	launch_ignores_children = true;
	RUN("-q", "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status");
	signal(SIGUSR2, SIG_DFL);
	launch_ignores_children = false;
	assert_int_equal(launched.status, 0);
	assert_contains(launched.out, "SigBlk:\t0000000000000000");
	snprintf(text, sizeof(text), "%016llx", 1ull << (SIGUSR2 - 1) | 1ull << (SIGCHLD - 1));
	assert_contains(launched.out, text);
}

int
main(void)
{
	const struct CMUnitTest few_tests[] = {
		cmocka_unit_test(test_everything_that_starts_a_command),
		cmocka_unit_test(test_options_that_are_refused),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_status_is_the_command_s),
		cmocka_unit_test(test_death_by_signal_is_said),
		cmocka_unit_test(test_commands_that_cannot_be_started),
		cmocka_unit_test(test_failure_of_exec_is_reported),
		cmocka_unit_test(test_script_without_interpreter_line),
		cmocka_unit_test(test_options_that_are_refused),
		cmocka_unit_test(test_values_that_are_taken),
		cmocka_unit_test(test_variables_are_checked_too),
		cmocka_unit_test(test_environment_of_the_command),
		cmocka_unit_test(test_budget_of_the_command),
		cmocka_unit_test(test_earlier_preload_is_kept),
		cmocka_unit_test(test_output_becomes_absolute),
		cmocka_unit_test(test_library_that_is_missing),
		cmocka_unit_test(test_outputs_that_are_refused),
		cmocka_unit_test(test_directory_that_is_not_writable),
		cmocka_unit_test(test_signals_are_passed_on),
		cmocka_unit_test(test_signals_of_the_command_are_untouched),
	};

	if (!launch_can_start_commands())
		return cmocka_run_group_tests(few_tests, launch_set_up, launch_tear_down);
	return cmocka_run_group_tests(tests, launch_set_up, launch_tear_down);
}
