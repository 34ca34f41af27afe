/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that keep memory and release all of it only when they end: `leaks` must find the leak
 * as of the last moment before that, and say so.  Each frees everything, so a report as of the end
 * has no live bytes.
 */
#include "tests/e2e/dump.h"
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define CLOSING PROGRAMS "/native_closing"
#define SECONDS "2"
#define HOOKS 2 /* TH_TEARDOWN_HOOKS */
/* The machine may stop a program for so long that its growth seems to have ended. */
#define ATTEMPTS 4

struct run {
	char *log;
	json_t *report;     /* of `leaks` */
	const json_t *leak; /* the first finding of that verdict; NULL: none */
};

static void
run_deinit(struct run *run)
{
	json_decref(run->report);
	free(run->log);
}

/* `leaks` with one option and its argument, or without. */
static json_t *
findings(const char *log, const char *option, const char *value)
{
	char *text = th_command_output(
		TH_WORDS(TH_TOOL, "leaks", "--format", "json", log, option, value));
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);

	if (!json)
		fail_msg("%s", error.text);
	free(text);
	return json;
}

static const json_t *
first_leak(const json_t *report)
{
	const json_t *list = json_object_get(report, "findings");
	const json_t *first = json_array_get(list, 0);
	const char *verdict = json_string_value(json_object_get(first, "verdict"));

	return verdict && !strcmp(verdict, "leak") ? first : NULL;
}

static void
record_once(const char *const *arguments, int status, struct run *ret)
{
	const char *directory = th_temporary_directory();
	const char *words[16] = {TH_TOOL, "run", "-i", "64k", "-o"};
	size_t count = 5;
	struct th_outcome outcome;

	*ret = (struct run){.log = th_format("%s/log.thl", directory)};
	words[count++] = ret->log;
	words[count++] = "--";
	while (*arguments)
		words[count++] = *arguments++;
	th_command_run(&(struct th_command){.arguments = words,
			       .directory = directory,
			       .environment = TH_WORDS("TWINHEAP_SEED=5")},
		&outcome);
	if (outcome.status != status)
		print_error("%s\n", outcome.errors);
	assert_int_equal(outcome.status, status);
	th_outcome_deinit(&outcome);
	ret->report = findings(ret->log, NULL, NULL);
	ret->leak = first_leak(ret->report);
}

/* Records a program that leaks until one is found. */
static void
record(const char *const *arguments, int status, struct run *ret)
{
	record_once(arguments, status, ret);
	for (int i = 1; i < ATTEMPTS && !ret->leak; i++) {
		run_deinit(ret);
		record_once(arguments, status, ret);
	}
	if (!ret->leak)
		fail_msg("no leak found in %s", ret->log);
}

static double
judged_at(const json_t *report)
{
	return json_number_value(json_object_get(json_object_get(report, "judged"), "at_s"));
}

/* Live bytes of a heap with --at. */
static double
live_at(const char *log, const char *at)
{
	char *text = th_command_output(
		TH_WORDS(TH_TOOL, "export", "--format", "json", "--at", at, log));
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);
	json_t *total = json_object_get(json_object_get(json, "totals"), "native");
	double live = th_figure_read(total, "live_bytes").estimate;

	json_decref(json);
	free(text);
	return live;
}

/* The reason contains `before`; the leak was freed at exit, and is in no report as of then. */
static void
check_released(const struct run *run, const char *before, double least_bytes)
{
	const json_t *judged = json_object_get(run->report, "judged");
	const char *reason = json_string_value(json_object_get(judged, "before"));
	json_t *at_exit = findings(run->log, "--at", "exit");
	struct th_figure live = th_figure_read(run->leak, "live_bytes");

	assert_non_null(reason);
	if (!strstr(reason, before))
		print_error("%s\n", reason);
	assert_non_null(strstr(reason, before));
	assert_true(live.estimate > least_bytes);
	assert_true(json_is_true(json_object_get(run->leak, "released_only_at_exit")));
	assert_true(json_number_value(json_object_get(run->leak, "freed_afterwards")) > 0.95);
	assert_null(first_leak(at_exit));
	double released = live_at(run->log, "end") - live_at(run->log, "exit");
	assert_true(released > 0.9 * live.estimate);
	json_decref(at_exit);
}

/*
 * The breakdown of resident memory is the one before the blocks are freed.  A Java VM's is taken
 * beside the hooks: on a busy machine it may come too late, and an earlier one is shown.
 */
static void
check_breakdown(const struct run *run, bool may_be_earlier)
{
	char *text = th_command_output(TH_WORDS(TH_TOOL, "rss", "--format", "json", run->log));
	json_error_t error;
	json_t *json = json_loads(text, 0, &error);
	double at = json_number_value(json_object_get(json, "at"));

	assert_true(at < judged_at(run->report) + 0.5);
	assert_true(may_be_earlier || at > judged_at(run->report) - 0.5);
	assert_true(json_number_value(json_object_get(json, "resident")) > 4e6);
	json_decref(json);
	free(text);
}

/*
 * --at SECONDS and --to judge as of that time, too, and what is freed later is live then.  The
 * machine may have stopped the program for long, so neither its verdict nor its size is certain.
 */
static void
check_earlier(const struct run *run)
{
	char *earlier = th_format("%.3f", 0.9 * judged_at(run->report));
	const char *const options[] = {"--at", "--to"};
	double live = th_figure_read(run->leak, "live_bytes").estimate;

	assert_true(live_at(run->log, earlier) > 0.1 * live);
	for (int i = 0; i < 2; i++) {
		json_t *report = findings(run->log, options[i], earlier);

		assert_true(fabs(judged_at(report) - atof(earlier)) < 1e-3);
		json_decref(report);
	}
	free(earlier);
}

/* Native programs */

static void
native(const char *way, const char *before)
{
	struct run run;

	record(TH_WORDS(CLOSING, way, SECONDS), 0, &run);
	check_released(&run, before, 4e6);
	check_earlier(&run);
	if (strcmp(way, "main") != 0 && strcmp(way, "now") != 0)
		check_breakdown(&run, false);
	run_deinit(&run);
}

static void
static_destructors(void **state)
{
	(void)state;
	native("static", "main returned");
}

static void
exit_handlers(void **state)
{
	(void)state;
	native("atexit", "main returned");
}

static void
exit_on_another_thread(void **state)
{
	(void)state;
	native("thread", "exit handlers");
}

static void
quick_exit_handlers(void **state)
{
	(void)state;
	native("quick", "exit handlers");
}

/* No mark before it: the collapse. */
static void
freed_by_main(void **state)
{
	(void)state;
	native("main", "freed at once");
}

/* As a worker of Python's multiprocessing does: the log has no end, but a mark. */
static void
freed_before_immediate_exit(void **state)
{
	(void)state;
	native("now", "freed at once");
}

/* A list that the interpreter frees after the program, before main returns. */
static void
python_list(void **state)
{
	static const char script[] = "import sys, time\n"
				     "kept = []\n"
				     "end = time.time() + " SECONDS "\n"
				     "while time.time() < end:\n"
				     "\tkept.append(bytearray(20000))\n"
				     "\ttime.sleep(0.002)\n";
	const char *python = "/usr/bin/python3";
	struct run run;

	(void)state;
	if (access(python, X_OK))
		skip();
	record(TH_WORDS(python, "-c", script), 0, &run);
	check_released(&run, "", 4e6);
	run_deinit(&run);
}

/* Java */

static void
java(const struct th_jdk *jdk, const char *way, int status, const char *before)
{
	struct run run;

	record(TH_WORDS(jdk->java, "-cp", PROGRAMS "/programs.jar", "Closes", way, SECONDS),
		status, &run);
	check_released(&run, before, 1e7);
	check_earlier(&run);
	check_breakdown(&run, true);
	run_deinit(&run);
}

static void
main_returns(const struct th_jdk *jdk)
{
	java(jdk, "return", 0, "began to end");
}

static void
system_exit(const struct th_jdk *jdk)
{
	java(jdk, "exit", 0, "began to end");
}

static void
sigterm(const struct th_jdk *jdk)
{
	java(jdk, "signal", 128 + 15, "handled a signal");
}

/* Looking for hooks loads no class and leaves no mark in a program without any. */
static void
no_hooks(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xlog:class+load:file=classes.log",
				"-cp", PROGRAMS "/programs.jar", "SampledThreads", "first",
				"500"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k"),
		},
		&recording);
	char *classes = th_command_output(TH_WORDS("sh", "-c",
		"grep -c ApplicationShutdownHooks \"$0\"/classes.log; true",
		recording.directory));
	assert_string_equal(classes, "0\n");
	th_dump_init(&dump, recording.log);
	while (th_dump_next(&dump, "teardown"))
		assert_int_not_equal(th_dump_number(&dump, "cause"), HOOKS);
	th_dump_deinit(&dump);
	free(classes);
	th_recording_deinit(&recording);
}

/* The hook of a VM that is destroyed is not the end: what the process keeps later counts. */
static void
embedded_vm(const struct th_jdk *jdk)
{
	char *libjvm = th_format("%s/lib/server/libjvm.so", jdk->home);
	char *program = th_jdk_program(jdk, PROGRAMS "/vm_destroyed");
	struct run run;

	record(TH_WORDS(program, libjvm, PROGRAMS "/programs.jar", "4"), 0, &run);
	const char *before = json_string_value(
		json_object_get(json_object_get(run.report, "judged"), "before"));
	assert_true(judged_at(run.report) > 4);
	assert_non_null(strstr(before, "main returned"));
	assert_true(th_stack_has_path(run.leak, TH_WORDS("keep_block")));
	free(program);
	free(libjvm);
	run_deinit(&run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(static_destructors),
		cmocka_unit_test(exit_handlers),
		cmocka_unit_test(exit_on_another_thread),
		cmocka_unit_test(quick_exit_handlers),
		cmocka_unit_test(freed_before_immediate_exit),
		cmocka_unit_test(freed_by_main),
		cmocka_unit_test(python_list),
	};
	static const struct th_jdk_test jdk_tests[] = {
		{"main returns", main_returns, 0},
		{"System.exit", system_exit, 0},
		{"SIGTERM", sigterm, 0},
		{"no hooks", no_hooks, 0},
		{"embedded VM", embedded_vm, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	return failed + th_jdk_run_tests("teardown", jdk_tests);
}
