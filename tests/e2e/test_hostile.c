/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations at times and in contexts that are difficult to record: the program behaves the
 * same with and without the library, and at interval 0 every allocation is in the log.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name

/* Allocations by libc for a few threads and for stdout. */
#define OTHERS_MAX 20000

static const char *const intervals[] = {"0", "512k"};

/* Helpers */

/* Returns the number of samples that did not fit into the log. */
static double
check_log(const char *log)
{
	struct th_dump dump;
	uint64_t dropped;

	th_dump_init(&dump, log);
	assert_int_equal(th_dump_torn(&dump), 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	assert_true(th_dump_is_complete(&dump));
	assert_int_equal(th_dump_counter(&dump, "dropped_no_scratch"), 0);
	dropped = th_dump_counter(&dump, "dropped_log_full");
	th_dump_deinit(&dump);
	return (double)dropped;
}

/* Every site has as many objects in the report as it prints. */
static void
assert_all_recorded(const struct th_recording *recording)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		const char *site = json_string_value(json_object_get(truth, "site"));
		struct th_figure figure;

		if (!site)
			continue;
		figure = th_recording_sum(
			recording, &(struct th_stack_filter){.frame = site}, "alloc_objects");
		print_message("%s: %.0f recorded\n", site, figure.estimate);
		assert_true(figure.estimate ==
			    json_number_value(json_object_get(truth, "objects")));
	}
}

static void
record(const char *const *command, const char *interval, const char *preload,
	struct th_recording *ret)
{
	char *setting = th_format("TWINHEAP_INTERVAL=%s", interval);

	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS(setting, preload)},
		ret);
	assert_string_equal(ret->outcome.errors, "");
	th_recording_load(ret);
	free(setting);
}

/* The command behaves the same when recorded; at interval 0 nothing is missing. */
static void
check(const char *const *command)
{
	struct th_outcome plain;

	th_command_check(&(struct th_command){.arguments = command}, &plain);
	for (size_t i = 0; i < 2; i++) {
		struct th_recording recording;

		record(command, intervals[i], NULL, &recording);
		assert_string_equal(recording.outcome.output, plain.output);
		assert_true(check_log(recording.log) == 0);
		if (i == 0)
			assert_all_recorded(&recording);
		th_recording_deinit(&recording);
	}
	th_outcome_deinit(&plain);
}

static double
exact_bytes(const struct th_recording *recording)
{
	struct th_figure total = th_recording_total(recording, "native", "alloc_bytes");

	assert_true(total.exact);
	return total.estimate;
}

/* Special times */

/*
 * The library unregisters a thread in the last of the four rounds of destructors: later
 * allocations of other destructors in that round are not recorded.
 */
static void
constructors_destructors_and_exceptions(void **state)
{
	(void)state;
	check(TH_WORDS(PROGRAM("native_moments")));
}

/* Recording has not begun: these allocations are not recorded, and do no harm. */
static void
before_any_constructor(void **state)
{
	struct th_recording none, some;

	(void)state;
	record(TH_WORDS(PROGRAM("native_moments"), "0"), "0", NULL, &none);
	record(TH_WORDS(PROGRAM("native_moments"), "1000"), "0", NULL, &some);
	assert_string_equal(some.outcome.output, none.outcome.output);
	assert_true(exact_bytes(&some) == exact_bytes(&none));
	th_recording_deinit(&none);
	th_recording_deinit(&some);
}

/* The total is counted even without a sample. */
static void
total_without_a_sample(void **state)
{
	struct th_recording all, none;

	(void)state;
	record(TH_WORDS(PROGRAM("native_stacks")), "0", NULL, &all);
	record(TH_WORDS(PROGRAM("native_stacks")), "1G", "TWINHEAP_SEED=1", &none);
	assert_true(th_recording_counter(&none, "native_samples") == 0);
	assert_true(exact_bytes(&none) == exact_bytes(&all));
	th_recording_deinit(&all);
	th_recording_deinit(&none);
}

/* Programs */

/* Every lookup of malloc finds an entry of the program, which leads to ours. */
static void
program_with_an_entry_for_malloc(void **state)
{
	(void)state;
	check(TH_WORDS(PROGRAM("native_nopie")));
}

/* Signals */

static double
truth_of(const struct th_recording *recording, const char *site, const char *value)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		const char *name = json_string_value(json_object_get(truth, "site"));

		if (name && strcmp(name, site) == 0)
			return json_number_value(json_object_get(truth, value));
	}
	fail_msg("no site %s", site);
	return 0;
}

/* Samples of thread_site(), excluding those of handlers that interrupted it. */
static double
samples_of_threads(const struct th_recording *recording)
{
	const struct th_stack_filter in_threads = {.frame = "thread_site"};
	const struct th_stack_filter interrupted = {
		.path = TH_WORDS("thread_site", "handler_site")};

	return th_recording_sum(recording, &in_threads, "alloc_objects").estimate -
	       th_recording_sum(recording, &interrupted, "alloc_objects").estimate;
}

/*
 * With an allocator that handlers may call.  Allocations of a handler that interrupts the
 * library itself are not recorded; all others are, except for samples that were due while a
 * handler forked during growth of the log, waited for its child, and the log's lock with it: they
 * are dropped and counted.
 */
static void
signal_handlers(void **state)
{
	static const char *const preload = "LD_PRELOAD=" TH_LIBRARY ":" PROGRAM("libbump.so");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct th_recording recording;
		double certain, uncertain, dropped, total;

		record(TH_WORDS(PROGRAM("native_signals"), "2000"), intervals[i], preload,
			&recording);
		assert_true(check_log(recording.log) == 0);
		th_recording_check_sum(&recording);
		dropped = th_recording_counter(&recording, "dropped_busy");
		certain = truth_of(&recording, "thread_site", "bytes");
		uncertain = truth_of(&recording, "handler_site", "bytes");
		assert_true(truth_of(&recording, "handler_site", "objects") >= 3 * 2000);
		total = exact_bytes(&recording);
		print_message("%.0f of %.0f and %.0f bytes\n", total, certain, uncertain);
		assert_true(total >= certain && total <= certain + uncertain + OTHERS_MAX);
		certain = truth_of(&recording, "thread_site", "objects");
		if (i == 0) {
			double samples = samples_of_threads(&recording);

			print_message("%.0f samples of %.0f, %.0f dropped\n", samples, certain,
				dropped);
			assert_true(samples <= certain && samples >= certain - dropped);
		}
		th_recording_deinit(&recording);
	}
}

/* Stacks */

static void
small_and_foreign_stacks(void **state)
{
	(void)state;
	check(TH_WORDS(PROGRAM("native_stacks")));
}

/* Loading and unloading libraries */

/* The figures of each copy's allocations belong to a library with its name, or to none. */
static void
loading_and_unloading(void **state)
{
	const char *directory = th_temporary_directory();

	(void)state;
	check(TH_WORDS(PROGRAM("native_loading"), PROGRAM("libvisitor.so"), directory, "200"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constructors_destructors_and_exceptions),
		cmocka_unit_test(before_any_constructor),
		cmocka_unit_test(total_without_a_sample),
		cmocka_unit_test(program_with_an_entry_for_malloc),
		cmocka_unit_test(signal_handlers),
		cmocka_unit_test(small_and_foreign_stacks),
		cmocka_unit_test(loading_and_unloading),
	};

	return cmocka_run_group_tests_name("hostile moments", tests, NULL, NULL);
}
