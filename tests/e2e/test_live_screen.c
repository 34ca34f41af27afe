/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `twinheap live` on a terminal, under tmux: the contents of the screen, the effect of keys,
 * and that the terminal is restored.  Each step waits for the expected text; nothing depends on
 * speed.
 */
#include "tests/e2e/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define STEP_MS 100

/* A separate tmux server, with one window that runs a shell. */
struct terminal {
	char *socket;
	char *screen; /* last seen contents */
};

static struct th_recording recording;
static struct terminal terminal; /* of the current test */

static int
record(void **state)
{
	(void)state;
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = th_jdk_newest(),
			.arguments = TH_WORDS("--volume", "8M", "functions", "path"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=7"),
		},
		&recording);
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	th_recording_deinit(&recording);
	return 0;
}

/* The server must not inherit our output. */
static char *
tmux(const char *command)
{
	char *line = th_format(
		"tmux -S %s -f /dev/null %s 2>/dev/null", terminal.socket, command);
	char *output = th_command_output(TH_WORDS("sh", "-c", line));

	free(line);
	return output;
}

static void
begin(int columns, int lines)
{
	char *command = th_format(
		"new-session -d -x %d -y %d "
		"'timeout --foreground 500 env LC_ALL=C.UTF-8 PS1=ready: sh' >/dev/null",
		columns, lines);

	terminal = (struct terminal){.socket = th_format("%s/tmux", th_temporary_directory())};
	free(tmux(command));
	free(command);
}

/* After every test, including failed ones: leaves no process running. */
static int
end(void **state)
{
	(void)state;
	if (!terminal.socket)
		return 0;
	char *command = th_format("tmux -S %s kill-server", terminal.socket);
	if (system(command))
		print_message("%s: no server\n", command);
	free(command);
	free(terminal.socket);
	free(terminal.screen);
	terminal = (struct terminal){0};
	return 0;
}

static void
keys(const char *names)
{
	char *command = th_format("send-keys %s", names);

	free(tmux(command));
	free(command);
}

static void expect(const char *text);

static void
run(const char *command)
{
	expect("ready:");
	char *line = th_format("'%s' Enter", command);

	keys(line);
	free(line);
}

/* Waits until the screen contains the text. */
static void
expect(const char *text)
{
	const struct timespec step = {0, STEP_MS * 1000000};

	for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
		free(terminal.screen);
		terminal.screen = tmux("capture-pane -p");
		if (strstr(terminal.screen, text))
			return;
		nanosleep(&step, NULL);
	}
	fail_msg("never saw '%s' on\n%s", text, terminal.screen);
}

static void
watch(const char *what)
{
	char *command = th_format(TH_TOOL " live %s; echo status $?", what);

	run(command);
	free(command);
}

/* The line on the screen that begins with this text, to be freed. */
static char *
line_of(const char *beginning)
{
	char *found = strstr(terminal.screen, beginning);

	assert_non_null(found);
	return strndup(found, strcspn(found, "\n"));
}

static void
test_finished_log(void **state)
{
	(void)state;
	begin(80, 24);
	watch(recording.log);
	expect("q quit  s live-bytes");
	assert_non_null(strstr(terminal.screen, "ended after"));
	assert_non_null(strstr(terminal.screen, "The process has ended. "));
	assert_non_null(strstr(terminal.screen, "recorded "));
	keys("s s");
	expect("q quit  s alloc-bytes");
	keys("h");
	expect("this help");
	keys("h End");
	expect("Recording quality");
	/* The views of the commands. */
	keys("2");
	expect("analyzed through");
	keys("3");
	expect("call path");
	keys("1");
	expect("recorded ");
	/* The shell's screen is restored, with its previous contents. */
	keys("q");
	expect("status 0");
	assert_null(strstr(terminal.screen, "1 summary"));
	/* With a filter, whose samples are all of the C heap. */
	char *filtered = th_format("--include calloc_4 %s", recording.log);
	watch(filtered);
	expect("only --include calloc_4");
	keys("Tab");
	expect("no samples match");
	keys("q");
	free(filtered);
}

/* Ctrl-C ends it like q, and the terminal echoes and breaks lines as before. */
static void
test_terminal_is_given_back(void **state)
{
	(void)state;
	begin(100, 30);
	run("stty -a | md5sum");
	expect("  -");
	char *before = line_of(strstr(terminal.screen, "md5sum\n") + 7);
	watch(recording.log);
	expect("q quit");
	keys("C-c");
	expect("status 0");
	run("clear; stty -a | md5sum");
	expect(before);
	free(before);
}

static void
test_other_size(void **state)
{
	(void)state;
	begin(200, 50);
	watch(recording.log);
	expect("q quit");
	assert_non_null(strstr(terminal.screen, "growth"));
	free(tmux("resize-window -x 40 -y 12"));
	/* Without the rates, so that the view has room. */
	expect("a all\n");
	assert_null(strstr(terminal.screen, "growth"));
	assert_non_null(strstr(terminal.screen, "recorded "));
	free(tmux("resize-window -x 120 -y 40"));
	expect("growth");
}

/* Waits until the tool accepts the log: its header is complete. */
static void
await_log(const char *log)
{
	char *line = th_format(
		"until " TH_TOOL " ctl %s >/dev/null 2>&1; do sleep 0.01; done", log);

	free(th_command_output(TH_WORDS("sh", "-c", line)));
	free(line);
}

/*
 * A process that records all of itself, started in the child.  It ends even if the test fails.
 */
static pid_t
start(char *const *command, const char *log)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LD_PRELOAD", TH_LIBRARY, 1);
		setenv("TWINHEAP_OUTPUT", log, 1);
		setenv("TWINHEAP_INTERVAL", "16k", 1);
		setenv("TWINHEAP_FOLLOW", "all", 1);
		execvp(command[0], command);
		_exit(127);
	}
	await_log(log);
	return child;
}

static void
end_process(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A process that runs, is paused on the screen, and is killed; it keeps at most 100 MB. */
static void
test_running_process(void **state)
{
	char *log = th_format("%s/log.thl", th_temporary_directory());
	char *const command[] = {"perl", "-e",
		"while (1) { push @kept, 'x' x 100000 . @kept if @kept < 1000;"
		" select undef, undef, undef, 0.02 }",
		NULL};

	(void)state;
	pid_t child = start(command, log);
	begin(120, 24);
	char *text = th_format("%d", child);
	watch(text);
	expect("running");
	expect("native heap ");
	expect("MiB/s");
	keys("p");
	expect("PAUSED");
	char *paused = line_of("native heap ");
	usleep(1500000);
	expect(paused);
	keys("p");
	expect("running");
	end_process(child);
	expect("The process has ended without closing its log: killed?");
	keys("q");
	expect("status 0");
	free(paused);
	free(text);
	free(log);
}

/* 320 MiB mapped while the tool was running, of which 80 were unmapped since. */
static void
test_mapped_memory(void **state)
{
	char *log = th_format("%s/log.thl", th_temporary_directory());
	char *const command[] = {TH_TEST_BUILD "/tests/programs/native_mapper", NULL};

	(void)state;
	pid_t child = start(command, log);
	begin(120, 60);
	watch(log);
	expect(" mapped         240 MiB ");
	keys("s s");
	expect(" 320 MiB  320 .. 320 MiB ");
	/* The Java heap is not recorded, so Tab goes to the native one first. */
	keys("Tab");
	expect("native heap  ");
	keys("Tab");
	expect("\n mapped: allocating functions");
	assert_null(strstr(terminal.screen, "native heap"));
	assert_non_null(strstr(terminal.screen, "mapping_site"));
	end_process(child);
	expect("The process has ended without closing its log: killed?");
	keys("q");
	expect("status 0");
	char *mapped = th_format("--heaps mapped %s", log);
	watch(mapped);
	expect("\n mapped: allocating functions");
	assert_null(strstr(terminal.screen, "native heap"));
	keys("Tab");
	expect("native heap  ");
	free(mapped);
	free(log);
}

/* When the terminal is closed, the program ends. */
static void
test_lost_terminal(void **state)
{
	(void)state;
	begin(80, 24);
	watch(recording.log);
	expect("q quit");
	char *found = th_format("pgrep -n -f \"" TH_TOOL " live %s\"", recording.log);
	char *number = th_command_output(TH_WORDS("sh", "-c", found));
	pid_t pid = atoi(number);
	assert_true(pid > 0);
	free(tmux("kill-server"));
	for (int waited = 0; !kill(pid, 0) && waited < PATIENCE_MS; waited += 10)
		usleep(10000);
	assert_int_equal(kill(pid, 0), -1);
	free(number);
	free(found);
}

/* Without a terminal that can position the cursor, the summary is printed as in a file. */
static void
test_no_screen(void **state)
{
	static const char *const commands[] = {
		TH_TOOL " live $LOG | cat",
		TH_TOOL " live $LOG </dev/null",
		"script -qec \"TERM=dumb " TH_TOOL " live $LOG\" /dev/null",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *line = th_format("export LOG=%s; %s", recording.log, commands[i]);
		char *output = th_command_output(TH_WORDS("sh", "-c", line));

		assert_non_null(strstr(output, " ended after "));
		assert_non_null(strstr(output, "Recording quality"));
		assert_null(strchr(output, '\033'));
		free(output);
		free(line);
	}
}

/* A pipe gets the last figures when the process ends, and then its end. */
static void
test_pipe_of_running_process(void **state)
{
	char *log = th_format("%s/piped.thl", th_temporary_directory());
	char *const command[] = {TH_TEST_BUILD "/tests/programs/native_mapper", NULL};
	pid_t child = start(command, log);
	char *line = th_format("{ " TH_TOOL " live %s; echo status $?; } | "
			       "while read -r words; do echo \"$words\"; case $words in "
			       "*' running '*) kill -9 %d; esac; done",
		log, child);
	char *output = th_command_output(TH_WORDS("sh", "-c", line));

	(void)state;
	assert_int_equal(waitpid(child, NULL, 0), child);
	char *running = strstr(output, " running ");
	assert_non_null(running);
	char *ended = strstr(running, " ended after ");
	assert_non_null(ended);
	assert_non_null(strstr(ended, "status 0"));
	free(output);
	free(line);
	free(log);
}

/* One clear line if there is nothing to show. */
static void
test_refusals(void **state)
{
	static const struct {
		const char *command;
		const char *expected;
	} cases[] = {
		{"script -qec \"" TH_TOOL " live $LOG.not\" /dev/null",
			"No such file or directory"},
		{"script -qec '" TH_TOOL " live 1000000' /dev/null",
			"process 1000000: is not recorded"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *line = th_format(
			"LOG=%s; { %s; } 2>&1; true", recording.log, cases[i].command);
		char *output = th_command_output(TH_WORDS("sh", "-c", line));

		assert_non_null(strstr(output, cases[i].expected));
		assert_null(strchr(output, '\033'));
		free(output);
		free(line);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_finished_log, end),
		cmocka_unit_test_teardown(test_terminal_is_given_back, end),
		cmocka_unit_test_teardown(test_other_size, end),
		cmocka_unit_test_teardown(test_running_process, end),
		cmocka_unit_test_teardown(test_mapped_memory, end),
		cmocka_unit_test_teardown(test_lost_terminal, end),
		cmocka_unit_test_teardown(test_no_screen, end),
		cmocka_unit_test_teardown(test_pipe_of_running_process, end),
		cmocka_unit_test_teardown(test_refusals, end),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
