/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs without a Java VM: totals are exact, the truth of each site is in its interval, and
 * the programs behave as without the library.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
/* Every run is the same: a test that passes once always passes. */
#define SEED "TWINHEAP_SEED=20260101"
#define MIB (1 << 20)

/* Helpers */

static void
record(const char *const *command, const char *interval, struct th_recording *ret)
{
	char *setting = th_format("TWINHEAP_INTERVAL=%s", interval);

	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS(setting, SEED)},
		ret);
	th_recording_load(ret);
	free(setting);
}

/* The sum of a key over all objects of the truth. */
static double
sum_of_truth(const struct th_recording *recording, const char *key)
{
	double sum = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *object = json_array_get(recording->truth, i);

		sum += json_number_value(json_object_get(object, key));
	}
	return sum;
}

/* The exact bytes of all native threads, which the reported total must equal. */
static double
exact_bytes(const struct th_recording *recording)
{
	struct th_figure total = th_recording_total(recording, "native", "alloc_bytes");

	assert_true(total.exact);
	assert_true(total.low == total.estimate && total.high == total.estimate);
	return total.estimate;
}

/*
 * Allocations by libc for the program (buffers, threads) are in the total as well: they are
 * measured with the same program at interval 0 when it allocates nothing itself.
 */
static double
bytes_without(const char *const *command)
{
	struct th_recording recording;
	double bytes;

	record(command, "0", &recording);
	assert_true(sum_of_truth(&recording, "bytes") == 0);
	bytes = exact_bytes(&recording);
	th_recording_deinit(&recording);
	return bytes;
}

/* The total of `command` equals its own figure, to the byte, at every interval. */
static void
check_exact_total(const char *const *command, const char *const *without)
{
	static const char *const intervals[] = {"0", "64k", "512k"};
	double other = bytes_without(without);

	for (size_t i = 0; i < 3; i++) {
		struct th_recording recording;

		record(command, intervals[i], &recording);
		assert_true(sum_of_truth(&recording, "bytes") > 0);
		assert_true(
			exact_bytes(&recording) == sum_of_truth(&recording, "bytes") + other);
		th_recording_check_sum(&recording);
		th_recording_deinit(&recording);
	}
}

/* Exact totals */

static void
entry_points_keep_their_promises(void **state)
{
	struct th_outcome outcome;

	(void)state;
	/*
	 * Verifies the program's figures without the library; under the library record() checks
	 * the status.
	 */
	th_command_check(
		&(struct th_command){.arguments = TH_WORDS(PROGRAM("native_entry_points"))},
		&outcome);
	assert_string_equal(outcome.errors, "");
	th_outcome_deinit(&outcome);
	check_exact_total(TH_WORDS(PROGRAM("native_entry_points")),
		TH_WORDS(PROGRAM("native_entry_points"), "none"));
}

static void
operator_new_is_seen(void **state)
{
	(void)state;
	check_exact_total(TH_WORDS(PROGRAM("native_operator_new"), "new"),
		TH_WORDS(PROGRAM("native_operator_new"), "none"));
}

static void
thread_pool_is_exact(void **state)
{
	(void)state;
	check_exact_total(TH_WORDS(PROGRAM("native_threads"), "8", "8", "20000"),
		TH_WORDS(PROGRAM("native_threads"), "8", "8", "0"));
}

/* Most of these threads never reach a sample. */
static void
short_threads_are_exact(void **state)
{
	(void)state;
	check_exact_total(TH_WORDS(PROGRAM("native_threads"), "2000", "8", "20"),
		TH_WORDS(PROGRAM("native_threads"), "2000", "8", "0"));
}

/* Every allocation */

#define FUNCTIONS 5

struct by_function {
	double objects[FUNCTIONS];
	double bytes[FUNCTIONS];
};

static void
count_by_function(const char *log, double sign, struct by_function *sums)
{
	struct th_dump dump;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "native_alloc")) {
		uint64_t function = th_dump_number(&dump, "function");

		assert_in_range(function, 1, FUNCTIONS - 1);
		sums->objects[function] += sign;
		sums->bytes[function] += sign * (double)th_dump_number(&dump, "size");
	}
	th_dump_deinit(&dump);
}

/* At interval 0 each call is one sample, attributed to the function that was called. */
static void
every_call_is_a_sample_of_its_function(void **state)
{
	struct by_function sums = {{0}, {0}};
	struct th_recording none, all;

	(void)state;
	record(TH_WORDS(PROGRAM("native_entry_points"), "none"), "0", &none);
	record(TH_WORDS(PROGRAM("native_entry_points")), "0", &all);
	count_by_function(all.log, 1, &sums);
	count_by_function(none.log, -1, &sums);
	for (size_t i = 0; i < FUNCTIONS - 1; i++) {
		const json_t *truth = json_array_get(all.truth, i);
		size_t function = (size_t)json_number_value(json_object_get(truth, "function"));

		assert_in_range(function, 1, FUNCTIONS - 1);
		assert_true(sums.objects[function] ==
			    json_number_value(json_object_get(truth, "objects")));
		assert_true(sums.bytes[function] ==
			    json_number_value(json_object_get(truth, "bytes")));
		assert_true(sums.objects[function] > 0);
	}
	th_recording_deinit(&none);
	th_recording_deinit(&all);
}

/* Every block is freed once: by free, by realloc, or by another thread. */
static void
every_free_is_seen(void **state)
{
	struct th_recording none, all;
	struct th_dump without, with;

	(void)state;
	record(TH_WORDS(PROGRAM("native_entry_points"), "none"), "0", &none);
	record(TH_WORDS(PROGRAM("native_entry_points")), "0", &all);
	th_dump_init(&without, none.log);
	th_dump_init(&with, all.log);
	size_t frees = th_dump_count(&with, "native_free") -
		       th_dump_count(&without, "native_free");
	assert_true((double)frees == sum_of_truth(&all, "frees"));
	assert_int_equal(th_dump_counter(&with, "live_table_full"), 0);
	th_dump_deinit(&without);
	th_dump_deinit(&with);
	th_recording_deinit(&none);
	th_recording_deinit(&all);
}

static void
check_site_is_exact(const struct th_recording *recording, const json_t *truth)
{
	struct th_stack_filter filter = {
		.frame = json_string_value(json_object_get(truth, "site"))};
	struct th_figure bytes = th_recording_sum(recording, &filter, "alloc_bytes");
	struct th_figure objects = th_recording_sum(recording, &filter, "alloc_objects");

	assert_true(bytes.estimate == json_number_value(json_object_get(truth, "bytes")));
	assert_true(objects.estimate == json_number_value(json_object_get(truth, "objects")));
	assert_true(objects.samples == objects.estimate);
	assert_true(bytes.low == bytes.estimate && bytes.high == bytes.estimate);
}

static void
sites_are_exact_at_interval_0(void **state)
{
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(PROGRAM("native_sites"), "1000000"), "0", &recording);
	assert_int_equal(json_array_size(recording.truth), 9);
	for (size_t i = 0; i < json_array_size(recording.truth); i++)
		check_site_is_exact(&recording, json_array_get(recording.truth, i));
	th_recording_deinit(&recording);
}

static void
threads_are_exact_at_interval_0(void **state)
{
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(PROGRAM("native_threads"), "2000", "8", "20"), "0", &recording);
	check_site_is_exact(&recording, json_array_get(recording.truth, 0));
	th_recording_deinit(&recording);
}

/* Sampled */

/*
 * The expected half width of an interval: 1.96 standard deviations of a sum of n blocks of s
 * bytes, each with variance s^2 (1-p)/p.  Shares of an exact total are known slightly better (a
 * site that is 1/9 of it: by 6 %), small counts have wider intervals.
 */
static void
check_width(const struct th_recording *recording, const json_t *truth, double interval)
{
	struct th_stack_filter filter = {
		.frame = json_string_value(json_object_get(truth, "site"))};
	struct th_figure figure = th_recording_sum(recording, &filter, "alloc_bytes");
	double size = json_number_value(json_object_get(truth, "size"));
	double objects = json_number_value(json_object_get(truth, "objects"));
	double p = -expm1(-size / interval);
	double expected = 1.96 * size * sqrt(objects * (1 - p) / p);
	double half = (figure.high - figure.low) / 2;

	/* Nearly every block is sampled: a handful of unsampled ones determine the width. */
	if (p > 0.95)
		return;
	if (half < 0.6 * expected || half > 1.5 * expected)
		fail_msg("%s: half width %.0f where %.0f is expected", filter.frame, half,
			expected);
}

/* 64 MiB per site: 128 or 1,024 expected samples where blocks are small. */
static void
check_sites(const char *interval_text, double interval)
{
	char *volume = th_format("%d", 64 * MIB);
	struct th_recording recording;

	record(TH_WORDS(PROGRAM("native_sites"), volume), interval_text, &recording);
	th_recording_check_sites(&recording, "native", "alloc_bytes");
	th_recording_check_sites(&recording, "native", "alloc_objects");
	for (size_t i = 0; i < json_array_size(recording.truth); i++)
		check_width(&recording, json_array_get(recording.truth, i), interval);
	th_recording_deinit(&recording);
	free(volume);
}

static void
sites_at_512k(void **state)
{
	(void)state;
	check_sites("512k", 512 * 1024);
}

static void
sites_at_64k(void **state)
{
	(void)state;
	check_sites("64k", 64 * 1024);
}

static void
threads_at_64k(void **state)
{
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(PROGRAM("native_threads"), "2000", "8", "50"), "64k", &recording);
	th_recording_check_sites(&recording, "native", "alloc_objects");
	th_recording_deinit(&recording);
}

/* The same seed repeats a run, and a different seed does not. */
static void
seed_decides_the_samples(void **state)
{
	static const char *const seeds[] = {
		"TWINHEAP_SEED=1", "TWINHEAP_SEED=1", "TWINHEAP_SEED=2"};
	double objects[3];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct th_recording recording;

		th_recording_run(
			&(struct th_recording_plan){
				.arguments = TH_WORDS(PROGRAM("native_sites"), "8000000"),
				.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", seeds[i])},
			&recording);
		th_recording_load(&recording);
		objects[i] = th_recording_total(&recording, "native", "alloc_objects").estimate;
		th_recording_deinit(&recording);
	}
	assert_true(objects[0] == objects[1]);
	assert_true(objects[0] != objects[2]);
}

/* Threads that still run at the end are known by their samples only; the report says so. */
static void
a_kernel_that_lets_nobody_read_is_told(void **state)
{
	const char *const threads = PROGRAM("native_threads");
	struct th_recording recording;
	char *summary;

	(void)state;
	record(TH_WORDS(PROGRAM("forbid_reading"), threads, "20", "8", "500"), "64k",
		&recording);
	th_recording_check_sites(&recording, "native", "alloc_objects");
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_non_null(strstr(summary, "the kernel forbids process_vm_readv here"));
	free(summary);
	th_recording_deinit(&recording);
}

/* A heap that is not recorded is not hooked either: the log contains nothing of it. */
static void
native_heap_switched_off(void **state)
{
	struct th_recording recording;
	struct th_dump dump;

	(void)state;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(PROGRAM("native_sites"), "8000000"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=0", "TWINHEAP_HEAPS=java")},
		&recording);
	th_dump_init(&dump, recording.log);
	assert_int_equal(th_dump_count(&dump, "native_alloc"), 0);
	assert_true(th_dump_is_complete(&dump));
	th_dump_deinit(&dump);
	th_recording_deinit(&recording);
}

/* Third-party programs */

/* Runs a command plain and recorded: the same output, and a report of the C heap. */
static void
check_unharmed(const char *const *command)
{
	struct th_recording recording;
	struct th_outcome plain;
	const char *directory = th_temporary_directory();

	th_command_check(
		&(struct th_command){.arguments = command, .directory = directory}, &plain);
	record(command, "64k", &recording);
	assert_string_equal(recording.outcome.output, plain.output);
	assert_string_equal(recording.outcome.errors, plain.errors);
	assert_true(th_recording_total(&recording, "native", "alloc_bytes").estimate > 0);
	assert_true(json_is_null(
		json_object_get(json_object_get(recording.report, "process"), "jvm")));
	assert_true(json_array_size(json_object_get(recording.report, "stacks")) > 0);
	th_recording_deinit(&recording);
	th_outcome_deinit(&plain);
}

static void
exceptions_fly_unharmed(void **state)
{
	(void)state;
	check_unharmed(TH_WORDS(PROGRAM("native_operator_new"), "throw"));
}

static void
python_runs_unharmed(void **state)
{
	(void)state;
	check_unharmed(TH_WORDS("python3", "-c",
		"import json, threading\n"
		"d = {str(i): [i] * 100 for i in range(20000)}\n"
		"t = [threading.Thread(target=lambda: json.dumps(d)) for _ in range(4)]\n"
		"[x.start() for x in t]; [x.join() for x in t]\n"
		"print(len(json.dumps(d)))\n"));
}

static void
compiler_runs_unharmed(void **state)
{
	(void)state;
	check_unharmed(TH_WORDS("gcc", "-O2", "-Wall", "-o", "a.out",
		TH_TEST_SOURCE "/tests/programs/native_sites.c"));
	check_unharmed(TH_WORDS("g++", "-O2", "-Wall", "-Wpadded", "-c", "-o", "a.o",
		TH_TEST_SOURCE "/tests/programs/native_operator_new.cpp"));
}

/* The exit status is the program's own. */
static void
exit_status_is_kept(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("python3", "-c", "import sys; sys.exit(42)"),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY),
			.directory = th_temporary_directory(),
		},
		&outcome);
	assert_int_equal(outcome.status, 42);
	th_outcome_deinit(&outcome);
}

static void
preload_alone_is_silent(void **state)
{
	struct th_recording recording;

	(void)state;
	record(TH_WORDS("true"), "512k", &recording);
	assert_string_equal(recording.outcome.output, "");
	assert_string_equal(recording.outcome.errors, "");
	th_recording_deinit(&recording);
}

static void
verbose_says_where_the_log_is(void **state)
{
	struct th_recording recording;
	char *expected;

	(void)state;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS("true"),
			.settings = TH_WORDS("TWINHEAP_VERBOSE=1"),
		},
		&recording);
	expected = th_format("twinheap: recording to %s\n", recording.log);
	assert_string_equal(recording.outcome.output, "");
	assert_string_equal(recording.outcome.errors, expected);
	free(expected);
	th_recording_deinit(&recording);
}

/* Mapped memory */

static double
field_of(const char *event, const char *name)
{
	const char *found = strstr(event, name);

	assert_non_null(found);
	return strtod(found + strlen(name), NULL);
}

/* After twenty thousand calls the table matches the kernel's, to the byte. */
static void
mappings_are_those_of_the_kernel(void **state)
{
	struct th_recording recording;
	const char *last = NULL;

	(void)state;
	record(TH_WORDS(PROGRAM("native_mappings")), "64k", &recording);
	char *text = th_command_output(TH_WORDS(TH_TOOL, "dump", recording.log));
	for (char *at = text; (at = strstr(at, " mapped_use time")); at++)
		last = at;
	assert_non_null(last);
	double accessible = sum_of_truth(&recording, "accessible");
	double reserved = sum_of_truth(&recording, "reserved");
	assert_true(accessible > 0 && reserved > 0);
	assert_true(field_of(last, " accessible=") == accessible);
	assert_true(field_of(last, " reserved=") == reserved);
	free(text);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entry_points_keep_their_promises),
		cmocka_unit_test(operator_new_is_seen),
		cmocka_unit_test(thread_pool_is_exact),
		cmocka_unit_test(short_threads_are_exact),
		cmocka_unit_test(every_call_is_a_sample_of_its_function),
		cmocka_unit_test(every_free_is_seen),
		cmocka_unit_test(sites_are_exact_at_interval_0),
		cmocka_unit_test(threads_are_exact_at_interval_0),
		cmocka_unit_test(sites_at_512k),
		cmocka_unit_test(sites_at_64k),
		cmocka_unit_test(threads_at_64k),
		cmocka_unit_test(seed_decides_the_samples),
		cmocka_unit_test(a_kernel_that_lets_nobody_read_is_told),
		cmocka_unit_test(native_heap_switched_off),
		cmocka_unit_test(exceptions_fly_unharmed),
		cmocka_unit_test(python_runs_unharmed),
		cmocka_unit_test(compiler_runs_unharmed),
		cmocka_unit_test(exit_status_is_kept),
		cmocka_unit_test(preload_alone_is_silent),
		cmocka_unit_test(verbose_says_where_the_log_is),
		cmocka_unit_test(mappings_are_those_of_the_kernel),
	};

	return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
