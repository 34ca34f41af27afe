/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that die while every allocation is sampled: the log is readable, contains every
 * completed allocation, and has at most one torn record per thread.
 */
#include "tests/e2e/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define PROGRAM TH_TEST_BUILD "/tests/programs/native_death"
#define THREADS 4
/* Enough to make the log grow several times: 104 bytes per block. */
#define BLOCKS "60000"
/* Allocations by libc for four threads: dynamic TLS, once each. */
#define OTHERS_MAX 8

struct death {
	struct th_outcome outcome;
	const char *directory;
	char *log;
	bool is_complete; /* it exited by itself while its threads continued */
	/* allocations before its end as printed by the program; a lower bound */
	double completed;
};

static double
read_counters(const char *path)
{
	uint64_t words[8];
	double sum = 0;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(fread(words, sizeof(words), 1, file), 1);
		sum += (double)words[0];
	}
	fclose(file);
	return sum;
}

static void
die(const char *way, const char *interval, struct death *ret)
{
	char *output, *counters, *setting;

	ret->directory = th_temporary_directory();
	ret->log = th_format("%s/log.thl", ret->directory);
	output = th_format("TWINHEAP_OUTPUT=%s", ret->log);
	setting = th_format("TWINHEAP_INTERVAL=%s", interval);
	counters = th_format("%s/counters", ret->directory);
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(PROGRAM, way, counters, BLOCKS),
			.environment = TH_WORDS(
				"LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_RATE=0", output, setting),
			.directory = ret->directory,
		},
		&ret->outcome);
	assert_false(ret->outcome.timed_out);
	ret->completed = read_counters(counters);
	assert_true(ret->completed >= atof(BLOCKS));
	ret->is_complete = strcmp(way, "exit") == 0;
	free(counters);
	free(setting);
	free(output);
}

static void
death_deinit(struct death *death)
{
	th_outcome_deinit(&death->outcome);
	free(death->log);
}

/*
 * Every allocation that the program has counted, and for each thread one that it has not yet.
 * A program that exits runs for a short time after the log is closed.
 */
static void
check_samples(const struct death *death, double samples, unsigned others)
{
	assert_true(samples >= (death->is_complete ? atof(BLOCKS) : death->completed));
	assert_true(samples <= death->completed + THREADS + others);
}

static void
check_log(const struct death *death)
{
	struct th_dump dump;

	th_dump_init(&dump, death->log);
	double samples = (double)th_dump_count(&dump, "native_alloc");
	print_message("%.0f allocations completed, %.0f recorded, %zu torn, %.0f dropped\n",
		death->completed, samples, th_dump_torn(&dump),
		(double)th_dump_counter(&dump, "dropped_busy"));
	check_samples(death, samples, OTHERS_MAX);
	assert_true(th_dump_torn(&dump) <= THREADS);
	assert_int_equal(th_dump_damaged(&dump), 0);
	assert_int_equal(th_dump_is_complete(&dump), death->is_complete);
	assert_int_equal(th_dump_count(&dump, "end"), death->is_complete);
	assert_int_equal(th_dump_counter(&dump, "dropped_log_full"), 0);
	th_dump_deinit(&dump);
}

/* The reports accept the log; they say that it is incomplete if and only if it is. */
static void
check_report(const struct death *death)
{
	struct th_recording recording = {.log = death->log};
	char *summary = th_command_output(TH_WORDS(TH_TOOL, "summary", death->log));
	struct th_outcome tree;
	struct th_figure site;

	th_command_check(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "tree", death->log)},
		&tree);
	assert_int_equal(strstr(summary, "the log has no end") != NULL, !death->is_complete);
	assert_int_equal(
		strstr(tree.errors, "the log has no end") != NULL, !death->is_complete);
	th_outcome_deinit(&tree);
	th_recording_load(&recording);
	assert_int_equal(json_is_true(json_object_get(
				 json_object_get(recording.report, "process"), "complete")),
		death->is_complete);
	site = th_recording_sum(
		&recording, &(struct th_stack_filter){.frame = "doomed_site"}, "alloc_objects");
	check_samples(death, site.samples, 0);
	json_decref(recording.report);
	free(summary);
}

/* A machine so busy that a thread does not run for 20 ms while it extends the log (docs/limits.md). */
static bool
is_starved(const struct death *death)
{
	struct th_dump dump;

	th_dump_init(&dump, death->log);
	double lost = (double)th_dump_counter(&dump, "dropped_busy");
	th_dump_deinit(&dump);
	return lost > 0;
}

static void
check_death(const char *way, int signal, int status)
{
	struct death death;

	die(way, "0", &death);
	for (int i = 0; i < 3 && is_starved(&death); i++) {
		death_deinit(&death);
		die(way, "0", &death);
	}
	assert_int_equal(death.outcome.signal, signal);
	assert_int_equal(death.outcome.status, status);
	assert_string_equal(death.outcome.errors, "");
	check_log(&death);
	check_report(&death);
	death_deinit(&death);
}

/* Several times: each run is interrupted at a different point of writing. */
static void
kill_9(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		check_death("kill", SIGKILL, -1);
}

static void
segmentation_fault(void **state)
{
	(void)state;
	check_death("segv", SIGSEGV, -1);
}

static void
illegal_instruction(void **state)
{
	(void)state;
	check_death("trap", SIGILL, -1);
}

static void
aborted(void **state)
{
	(void)state;
	check_death("abort", SIGABRT, -1);
}

/* No destructor runs: the log is incomplete, and the exit status is the program's. */
static void
immediate_exit(void **state)
{
	(void)state;
	check_death("_exit", 0, 7);
}

/*
 * Exits while its threads continue: allocations in progress are finished, and the log is
 * complete.
 */
static void
exit_under_load(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		check_death("exit", 0, 7);
}

/* Also at the default interval, where most of a thread's bytes are not yet in a record. */
static void
kill_9_at_the_usual_interval(void **state)
{
	struct th_recording recording = {0};
	struct th_figure total;
	struct death death;

	(void)state;
	die("kill", "512k", &death);
	recording.log = death.log;
	th_recording_load(&recording);
	total = th_recording_total(&recording, "native", "alloc_objects");
	th_assert_covers(&total, death.completed, "allocations");
	json_decref(recording.report);
	death_deinit(&death);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_9),
		cmocka_unit_test(segmentation_fault),
		cmocka_unit_test(illegal_instruction),
		cmocka_unit_test(aborted),
		cmocka_unit_test(immediate_exit),
		cmocka_unit_test(exit_under_load),
		cmocka_unit_test(kill_9_at_the_usual_interval),
	};

	return cmocka_run_group_tests_name("crash", tests, NULL, NULL);
}
