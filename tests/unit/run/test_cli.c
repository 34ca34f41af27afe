/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built tool as users meet it: exit statuses, one line per error, outputs that cannot be
 * written.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/leaks/leaks.h"
#include "tests/unit/log/log_builder.h"

#define TOOL TH_TEST_BUILD "/twinheap"
#define ARGUMENTS_MAX 16
/* The tool is ended by a signal if it takes longer, in case it waits forever. */
#define LONGEST_SECONDS 60

static char *log_path;
static char *empty_path;

static int
make_logs(void **state)
{
	const uint64_t frames[] = {th_frame_java(1, TH_BCI_UNKNOWN)};
	struct log_builder log;

	(void)state;
	log_init(&log, 0);
	log_process(&log, "/opt/app", "app\0--password\0secret-word");
	log_jvm(&log, 25, TH_JVM_SAMPLED_ALLOC | TH_JVM_JAVA_FRAMES);
	log_thread(&log, 1, "main");
	log_method(&log, 1, "Lapp/Main;", "main");
	/* Enough different threads that every view overflows the buffer of a pipe. */
	log_stack(&log, 1, frames, 1);
	for (uint32_t i = 2; i < 3000; i++) {
		char name[40];

		snprintf(name, sizeof(name), "a-thread-with-a-long-name-%u", i);
		log_thread(&log, i, name);
		log_native(&log, (struct log_sample){.ms = 1,
					 .size = 1 + i,
					 .thread_bytes = 1 + i,
					 .thread = i,
					 .stack = 1});
	}
	log_end(&log, 10);
	log_path = log_save(&log);
	empty_path = log_save_bytes("", 0);
	log_deinit(&log);
	return 0;
}

static int
remove_logs(void **state)
{
	(void)state;
	unlink(log_path);
	unlink(empty_path);
	free(log_path);
	free(empty_path);
	return 0;
}

struct outcome {
	int status; /* exit status; 128 + signal */
	char *output;
	char *errors;
};

/* Target of standard output. */
enum output { TO_FILE, CLOSED, TO_FULL_DISK, TO_NOBODY };

static void
wire_output(enum output output, int file)
{
	int pipe_ends[2];

	switch (output) {
	case TO_FILE:
		dup2(file, STDOUT_FILENO);
		break;
	case CLOSED:
		close(STDOUT_FILENO);
		break;
	case TO_FULL_DISK:
		dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
		break;
	case TO_NOBODY:
		if (pipe(pipe_ends))
			_exit(99);
		dup2(pipe_ends[1], STDOUT_FILENO);
		close(pipe_ends[0]);
		break;
	}
}

static char *
read_back(FILE *file)
{
	char *text = NULL;
	size_t capacity = 0;

	rewind(file);
	if (getdelim(&text, &capacity, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

/* The tool may be for another processor: the tests' runner then runs it too. */
static void
exec_tool(char *const *arguments)
{
	char *shell[ARGUMENTS_MAX + 5] = {
		"sh", "-c", "exec $TH_TEST_RUNNER \"$0\" \"$@\"", TOOL, NULL};
	int count = 4;

	if (!getenv("TH_TEST_RUNNER"))
		execv(TOOL, arguments);
	for (int i = 1; arguments[i] && i < ARGUMENTS_MAX; i++)
		shell[count++] = arguments[i];
	execv("/bin/sh", shell);
}

static struct outcome
run_tool(enum output output, char *const *arguments)
{
	FILE *out = tmpfile();
	FILE *err = tmpfile();
	struct outcome outcome;
	int status;
	pid_t child = fork();

	if (!child) {
		dup2(fileno(err), STDERR_FILENO);
		wire_output(output, fileno(out));
		alarm(LONGEST_SECONDS);
		exec_tool(arguments);
		_exit(98);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	outcome.output = read_back(out);
	outcome.errors = read_back(err);
	return outcome;
}

static void
outcome_end(struct outcome *outcome)
{
	free(outcome->output);
	free(outcome->errors);
}

static size_t
count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Runs the tool with arguments up to NULL; its output must contain `expected`. */
static void
expect(int status, const char *expected, ...)
{
	char *arguments[ARGUMENTS_MAX] = {TOOL};
	int count = 1;
	va_list list;

	va_start(list, expected);
	while ((arguments[count++] = va_arg(list, char *)))
		assert_true(count < ARGUMENTS_MAX);
	va_end(list);
	struct outcome outcome = run_tool(TO_FILE, arguments);
	if (outcome.status != status)
		fail_msg("status %d, %s", outcome.status, outcome.errors);
	const char *text = status ? outcome.errors : outcome.output;
	if (!strstr(text, expected))
		fail_msg("no \"%s\" in \"%s\"", expected, text);
	if (status) {
		assert_string_equal(outcome.output, "");
		assert_int_equal(strncmp(text, "twinheap: ", 10), 0);
		assert_int_equal(count_lines(text), 1);
	} else {
		assert_string_equal(outcome.errors, "");
	}
	outcome_end(&outcome);
}

static void
test_help_and_version(void **state)
{
	static const char *const verbs[] = {"summary", "tree", "leaks", "export", "diff",
		"dump", "ctl", "list", "push", "attach", "detach", "doctor"};
	static const char *const of_run[] = {"-o, --output LOG", "-i, --interval BYTES",
		"--heaps all|both|java|native|mapped", "--depth N", "--follow java|all|none",
		"TWINHEAP_MAX_LOG=BYTES", "-r, --rate RATE"};

	(void)state;
	for (size_t i = 0; i < sizeof(of_run) / sizeof(of_run[0]); i++)
		expect(0, of_run[i], "run", "--help", NULL);
	expect(0, "usage: twinheap", "--help", NULL);
	expect(0, "twinheap ", "--version", NULL);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		expect(0, verbs[i], verbs[i], "--help", NULL);
	expect(0, "--include RE", "tree", "--help", NULL);
}

static void
test_no_arguments(void **state)
{
	char *arguments[] = {TOOL, NULL};

	(void)state;
	struct outcome outcome = run_tool(TO_FILE, arguments);
	assert_int_equal(outcome.status, 2);
	assert_string_equal(outcome.output, "");
	assert_non_null(strstr(outcome.errors, "usage:"));
	outcome_end(&outcome);
}

static void
test_usage_errors(void **state)
{
	(void)state;
	expect(2, "frobnicate", "frobnicate", NULL);
	expect(2, "no log given", "tree", NULL);
	expect(2, "more than one log", "tree", log_path, log_path, NULL);
	expect(2, "--frob: unknown option", "tree", "--frob", log_path, NULL);
	expect(2, "--brief: unknown option", "tree", "--brief", log_path, NULL);
	expect(2, "needs an argument", "tree", log_path, "--thread", NULL);
	expect(2, "--follow: unknown option", "attach", "--follow", "all", "1", NULL);
	expect(2, "no process given", "detach", NULL);
	expect(2, "more than one process", "attach", "1", "2", NULL);
	expect(2, "unexpected argument", "list", "1", NULL);
	expect(2, "--only x: expected KEY=VALUE", "push", "--only", "x", NULL);
	expect(2, "--window 0: expected a number of seconds", "push", "--window", "0", NULL);
	expect(2, "pause takes no options of holders", "ctl", log_path, "pause", "--max-pause",
		"1s", NULL);
	expect(2, "--max-pause 1h: expected a time", "ctl", log_path, "holders",
		"--max-pause=1h", NULL);
	expect(2, "--heaps", "tree", "--heaps", "left", log_path, NULL);
	expect(2, "--value", "tree", "--value", "bytes", log_path, NULL);
	expect(2, "--at", "tree", "--at", "noon", log_path, NULL);
	expect(2, "--fail-on", "leaks", "--fail-on", "smoke", log_path, NULL);
	expect(2, "--format", "leaks", "--format", "collapsed", log_path, NULL);
	expect(2, "--at", "leaks", "--at", "noon", log_path, NULL);
	expect(2, "requires two logs", "diff", log_path, NULL);
	expect(2, "takes two logs or directories", "diff", log_path, log_path, log_path, NULL);
	expect(2, "more than one log", "summary", log_path, log_path, NULL);
	expect(2, "--include (", "tree", "--include", "(", log_path, NULL);
	expect(2, "--from", "tree", "--from", "yesterday", log_path, NULL);
	expect(2, "--from must be less", "tree", "--from", "2", "--to", "1", log_path, NULL);
	expect(2, "--min", "tree", "--min", "101", log_path, NULL);
	expect(2, "--format", "export", log_path, NULL);
	expect(2, "--format", "export", "--format", "pdf", log_path, NULL);
}

static void
expect_unreadable(const char *path, const char *reason)
{
	expect(3, reason, "summary", path, NULL);
	expect(3, reason, "summary", "--brief", path, NULL);
	expect(3, reason, "tree", path, NULL);
	expect(3, reason, "dump", path, NULL);
	expect(3, reason, "export", "--format", "json", path, NULL);
	expect(3, reason, "export", "--format", "collapsed", path, NULL);
	expect(3, reason, "leaks", path, NULL);
	expect(3, reason, "diff", log_path, path, NULL);
	expect(3, reason, "diff", path, log_path, NULL);
}

static void
test_unreadable_inputs(void **state)
{
	(void)state;
	expect_unreadable("/nonexistent/a.thl", "/nonexistent/a.thl: No such file");
	expect(3, "/tmp: is a directory", "summary", "/tmp", NULL);
	expect_unreadable(empty_path, "is empty");
	expect_unreadable(TOOL, "is not a twinheap log");
}

static void
test_options_may_follow_the_log(void **state)
{
	(void)state;
	expect(0, "100.0 %", "tree", log_path, "--heaps", "native", NULL);
	expect(0, "a-thread-with-a-long-name-7;app.Main.main 8\n", "export", log_path,
		"--format=collapsed", NULL);
}

static void
test_verbs_work(void **state)
{
	(void)state;
	expect(0, "native heap  ", "summary", log_path, NULL);
	expect(0, "next:  ", "summary", "--brief", log_path, NULL);
	expect(0, " native_alloc time=", "dump", log_path, NULL);
	expect(0, "\"twinheap\": 1", "export", "--format", "json", log_path, NULL);
}

/* The options that select and shape stacks are the same for all commands. */
static void
test_filters_of_every_view(void **state)
{
	static char *const verbs[] = {
		"summary", "tree", "leaks", "diff", "export", "flamegraph"};
	static const char *const options[] = {"--heaps HEAPS", "--from TIME", "--to TIME",
		"--thread RE", "--class RE", "--include RE", "--exclude RE", "--focus RE",
		"--hide RE", "--group-by WHAT", "--vm-frames"};

	(void)state;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
			expect(0, options[k], verbs[i], "--help", NULL);
	}
	expect(0, "only --focus main --group-by thread\n", "summary", "--focus", "main",
		"--group-by", "thread", log_path, NULL);
	expect(0, "only --hide 'a b'\n", "leaks", "--hide", "a b", log_path, NULL);
	expect(2, "--group-by line: expected package, library, class or thread", "tree",
		"--group-by", "line", log_path, NULL);
	expect(2, "--focus [: ", "tree", "--focus", "[", log_path, NULL);
}

/* A log of ten seconds in which one more block of 1000 bytes is live every 100 ms. */
static char *
save_leaking_log(void)
{
	const uint64_t frames[] = {th_frame_java(1, TH_BCI_UNKNOWN)};
	struct log_builder log;

	log_init(&log, 0);
	log_thread(&log, 1, "main");
	log_method(&log, 1, "Lapp/Main;", "main");
	log_stack(&log, 1, frames, 1);
	for (uint32_t i = 0; i < 100; i++)
		log_native(&log, (struct log_sample){
					 .ms = 100 * i, .size = 1000, .thread = 1, .stack = 1});
	log_end(&log, 10000);
	char *path = log_save(&log);
	log_deinit(&log);
	return path;
}

static void
expect_status(int status, char *option, char *argument, char *path)
{
	char *arguments[] = {TOOL, "leaks", path, option, argument, NULL};
	struct outcome outcome = run_tool(TO_FILE, arguments);

	assert_int_equal(outcome.status, status);
	assert_string_equal(outcome.errors, "");
	assert_true(strlen(outcome.output) > 0);
	outcome_end(&outcome);
}

/* 100,000 bytes leak; the log of the other tests has no leak. */
static void
test_fail_on(void **state)
{
	char *leaking = save_leaking_log();

	(void)state;
	expect_status(0, "--top", "1", leaking);
	expect_status(1, "--fail-on", "leak", leaking);
	expect_status(1, "--fail-on", "100000", leaking);
	expect_status(0, "--fail-on", "100001", leaking);
	expect_status(0, "--fail-on", "leak", log_path);
	expect_status(0, "--format", "json", leaking);
	unlink(leaking);
	free(leaking);
}

/* Ten seconds of garbage at an interval of 512 KiB: the limit is 11.1 intervals in 4 s. */
static char *
save_clean_log(void)
{
	const uint64_t frames[] = {th_frame_java(1, TH_BCI_UNKNOWN)};
	struct log_builder log;

	log_init(&log, 512 << 10);
	log_thread(&log, 1, "main");
	log_method(&log, 1, "Lapp/Main;", "main");
	log_stack(&log, 1, frames, 1);
	for (uint32_t i = 0; i < 100; i++)
		log_free(&log, 100 * i + 1,
			log_native(&log, (struct log_sample){.ms = 100 * i,
						 .size = 1000,
						 .interval = 512 << 10,
						 .thread = 1,
						 .stack = 1}));
	log_end(&log, 10000);
	char *path = log_save(&log);
	log_deinit(&log);
	return path;
}

/* 1.45 MB/s: more than a million bytes a second, less than two. */
static void
test_limit(void **state)
{
	char *clean = save_clean_log();
	char *leaking = save_leaking_log();
	char *reached[] = {TOOL, "leaks", clean, "--fail-on", "leak", "--limit", "2M/s", NULL};
	char *missed[] = {TOOL, "leaks", clean, "--fail-on", "leak", "--limit", "1M/s", NULL};
	char *found[] = {TOOL, "leaks", leaking, "--fail-on", "leak", "--limit", "1", NULL};
	char **const commands[] = {reached, missed, found};
	static const int statuses[] = {0, TH_STATUS_LIMIT, 1};

	(void)state;
	expect_status(0, "--fail-on", "leak", clean);
	for (size_t i = 0; i < 3; i++) {
		struct outcome outcome = run_tool(TO_FILE, commands[i]);

		assert_int_equal(outcome.status, statuses[i]);
		outcome_end(&outcome);
	}
	expect(2, "--limit", "leaks", "--limit", "1M", clean, NULL);
	expect(2, "--limit", "leaks", "--fail-on", "leak", "--limit", "much", clean, NULL);
	unlink(clean);
	unlink(leaking);
	free(clean);
	free(leaking);
}

static void
test_diff(void **state)
{
	char moment[64];
	char *leaking = save_leaking_log();

	(void)state;
	snprintf(moment, sizeof(moment), "%s@5s", leaking);
	/* 51 blocks at 5 s, 100 at the end. */
	expect(0, "49.8 KiB   97.7 KiB   +47.9 KiB", "diff", moment, leaking, NULL);
	expect(0, "\"twinheap\": 1", "diff", "--format", "json", log_path, leaking, NULL);
	expect(0, "+47.9 KiB", "diff", "--value", "alloc-bytes", moment, leaking, NULL);
	unlink(leaking);
	free(leaking);
}

static void
test_output_file(void **state)
{
	char path[] = "/tmp/twinheap-test-XXXXXX";
	struct stat before;
	struct stat after;
	json_error_t error;

	(void)state;
	close(mkstemp(path));
	expect(0, "", "export", "--format", "json", "-o", path, log_path, NULL);
	json_t *root = json_load_file(path, 0, &error);
	assert_non_null(root);
	assert_int_equal(json_array_size(json_object_get(root, "stacks")), 2998);
	json_decref(root);
	unlink(path);
	expect(2, "/nonexistent/x: No such file", "export", "--format", "json", "-o",
		"/nonexistent/x", log_path, NULL);
	expect(2, "/dev/full: No space left", "export", "--format", "json", "-o", "/dev/full",
		log_path, NULL);
	/* The log is mapped while the output is written: they must not be the same file. */
	assert_int_equal(stat(log_path, &before), 0);
	expect(2, "would overwrite the log", "export", "--format", "json", "-o", log_path,
		log_path, NULL);
	assert_int_equal(stat(log_path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
}

/* Names from the recorded program */

static void
assert_printable(const char *text)
{
	for (; *text; text++) {
		if (((unsigned char)*text < ' ' && *text != '\n') || *text == 0x7f)
			fail_msg("byte %d in \"%s\"", *text, text);
	}
}

/* A terminal would execute the control sequences of such a name. */
static void
test_names_are_printable(void **state)
{
	static const char *const verbs[][2] = {{"summary"}, {"summary", "--brief"}, {"tree"},
		{"leaks"}, {"rss"}, {"dump"}, {"bundle"}, {"ctl"}, {"diff"}, {"export"},
		{"live"}};
	char directory[] = "/tmp/twinheap-test-XXXXXX";
	char path[64], missing[64], bundle[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/\033]0;title\007.thl", directory);
	snprintf(bundle, sizeof(bundle), "%s/\033]0;title\007.bundle.thl", directory);
	snprintf(missing, sizeof(missing), "%s/\033[2J", directory);
	assert_int_equal(link(log_path, path), 0);
	for (size_t i = 0; i < 2 * sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *arguments[ARGUMENTS_MAX] = {TOOL};
		int count = 1;

		for (size_t word = 0; word < 2 && verbs[i / 2][word]; word++)
			arguments[count++] = (char *)verbs[i / 2][word];
		arguments[count++] = i % 2 ? missing : path;
		struct outcome outcome = run_tool(TO_FILE, arguments);

		assert_true(outcome.output[0] || outcome.errors[0]);
		assert_printable(outcome.output);
		assert_printable(outcome.errors);
		outcome_end(&outcome);
	}
	unlink(bundle);
	unlink(path);
	rmdir(directory);
}

/* It has no writer: opening it for reading like a regular file would block forever. */
static void
test_module_that_is_a_pipe(void **state)
{
	static const char *const verbs[] = {"summary", "tree", "leaks"};
	const uint64_t frames[] = {th_frame_native(1, 0x10)};
	char pipe_path[] = "/tmp/twinheap-test-XXXXXX";
	struct log_builder log;

	(void)state;
	close(mkstemp(pipe_path));
	unlink(pipe_path);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	log_init(&log, 0);
	log_thread(&log, 1, "main");
	log_module(&log, 1, pipe_path);
	log_stack(&log, 1, frames, 1);
	log_native(&log,
		(struct log_sample){
			.ms = 1, .size = 100, .thread_bytes = 100, .thread = 1, .stack = 1});
	char *path = log_save(&log);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *arguments[] = {TOOL, (char *)verbs[i], path, NULL};
		struct outcome outcome = run_tool(TO_FILE, arguments);

		assert_int_equal(outcome.status, 0);
		outcome_end(&outcome);
	}
	log_deinit(&log);
	unlink(path);
	unlink(pipe_path);
	free(path);
}

/* Privacy */

/* Whether `text` occurs in a file with any contents, compressed or not. */
static bool
is_in_file(const char *path, const char *text)
{
	static char content[1 << 22];
	gzFile file = gzopen(path, "r");

	assert_non_null(file);
	int length = gzread(file, content, sizeof(content));
	assert_in_range(length, 1, sizeof(content) - 1);
	gzclose(file);
	return memmem(content, (size_t)length, text, strlen(text)) != NULL;
}

/* Bundles are made from logs, all other outputs from logs and bundles. */
static void
test_command_line_is_left_out(void **state)
{
	static const char *const verbs[][3] = {{"summary"}, {"dump"},
		{"export", "--format", "json"}, {"export", "--format", "speedscope"},
		{"flamegraph"}};
	char path[] = "/tmp/twinheap-test-XXXXXX";

	(void)state;
	close(mkstemp(path));
	expect(0, "names of", "bundle", "--no-command", "-o", path, log_path, NULL);
	assert_false(is_in_file(path, "secret-word"));
	assert_true(is_in_file(path, "/opt/app"));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *arguments[ARGUMENTS_MAX] = {TOOL};
		int count = 1;

		for (size_t word = 0; word < 3 && verbs[i][word]; word++)
			arguments[count++] = (char *)verbs[i][word];
		arguments[count] = log_path;
		struct outcome shown = run_tool(TO_FILE, arguments);
		arguments[count + 1] = "--no-command";
		struct outcome hidden = run_tool(TO_FILE, arguments);
		arguments[count] = path;
		arguments[count + 1] = NULL;
		struct outcome bundled = run_tool(TO_FILE, arguments);

		assert_int_equal(shown.status + hidden.status + bundled.status, 0);
		assert_non_null(strstr(shown.output, "secret-word"));
		assert_null(strstr(hidden.output, "secret-word"));
		assert_non_null(strstr(hidden.output, "/opt/app"));
		assert_null(strstr(bundled.output, "secret-word"));
		assert_non_null(strstr(bundled.output, "/opt/app"));
		outcome_end(&shown);
		outcome_end(&hidden);
		outcome_end(&bundled);
	}
	expect(0, "", "export", "--format", "pprof", "-o", path, log_path, NULL);
	assert_true(is_in_file(path, "secret-word"));
	expect(0, "", "export", "--format", "pprof", "--no-command", "-o", path, log_path,
		NULL);
	assert_false(is_in_file(path, "secret-word"));
	expect(0, "", "flamegraph", "--no-command", "-o", path, log_path, log_path, NULL);
	assert_true(is_in_file(path, "/opt/app"));
	assert_false(is_in_file(path, "secret-word"));
	unlink(path);
}

/* Reports are as private as logs; an existing file keeps its mode. */
static void
test_outputs_are_private(void **state)
{
	static const char *const verbs[][3] = {{"bundle"}, {"export", "--format", "json"},
		{"export", "--format", "pprof"}, {"flamegraph"}};
	char path[] = "/tmp/twinheap-test-XXXXXX";
	mode_t before = umask(022);

	(void)state;
	close(mkstemp(path));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *arguments[ARGUMENTS_MAX] = {TOOL};
		struct stat status;
		int count = 1;

		for (size_t word = 0; word < 3 && verbs[i][word]; word++)
			arguments[count++] = (char *)verbs[i][word];
		arguments[count++] = log_path;
		arguments[count++] = "-o";
		arguments[count++] = path;
		unlink(path);
		for (mode_t mode = 0600; mode; mode = mode == 0600 ? 0644 : 0) {
			struct outcome outcome = run_tool(TO_FILE, arguments);

			assert_int_equal(outcome.status, 0);
			assert_int_equal(stat(path, &status), 0);
			assert_int_equal(status.st_mode & 0777, mode);
			assert_int_equal(chmod(path, 0644), 0);
			outcome_end(&outcome);
		}
	}
	unlink(path);
	umask(before);
}

static void
expect_output_error(enum output output, int status, const char *expected)
{
	static char *const verbs[] = {"summary", "tree", "leaks", "dump"};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *arguments[] = {TOOL, verbs[i], log_path, NULL};
		struct outcome outcome = run_tool(output, arguments);

		assert_int_equal(outcome.status, status);
		if (expected)
			assert_non_null(strstr(outcome.errors, expected));
		else
			assert_string_equal(outcome.errors, "");
		outcome_end(&outcome);
	}
}

static void
test_outputs_that_fail(void **state)
{
	(void)state;
	expect_output_error(CLOSED, 2, "standard output: Bad file descriptor");
	expect_output_error(TO_FULL_DISK, 2, "standard output: No space left");
	expect_output_error(TO_NOBODY, 0, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_help_and_version),
		cmocka_unit_test(test_no_arguments),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_unreadable_inputs),
		cmocka_unit_test(test_options_may_follow_the_log),
		cmocka_unit_test(test_verbs_work),
		cmocka_unit_test(test_filters_of_every_view),
		cmocka_unit_test(test_fail_on),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_output_file),
		cmocka_unit_test(test_names_are_printable),
		cmocka_unit_test(test_module_that_is_a_pipe),
		cmocka_unit_test(test_command_line_is_left_out),
		cmocka_unit_test(test_outputs_are_private),
		cmocka_unit_test(test_outputs_that_fail),
	};

	return cmocka_run_group_tests(tests, make_logs, remove_logs);
}
