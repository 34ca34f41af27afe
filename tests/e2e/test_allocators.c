/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocators other than libc's: as the next allocator, before us, in the program itself.
 * Allocations that reach us are counted to the byte, others are reported, and every block is
 * freed by the allocator it came from.  If an allocator is not installed, a line is printed and
 * the test is skipped.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/allocators.h"

/* Objects kept by the program, see allocator_calls.cpp. */
#define KEPT_OBJECTS 100

static const struct th_allocator *
allocator_of(void **state)
{
	return *state;
}

/* The path of the allocator under test; skips the test if it is not installed. */
static char *
path_or_skip(void **state)
{
	char *path = th_allocator_path(allocator_of(state));

	if (!path) {
		print_message("%s is not installed\n", allocator_of(state)->name);
		skip();
	}
	return path;
}

/* The forwarding libraries for an allocator, and the allocator; to be freed. */
static char *
over(const struct th_allocator *allocator, const char *path)
{
	return th_format("%s:%s:%s%s%s", TH_LIBRARY, TH_FORWARD_NEW,
		allocator->has_mallocx ? TH_FORWARD_MALLOCX : "",
		allocator->has_mallocx ? ":" : "", path);
}

static void
record(const char *const *command, const char *preload, struct th_recording *ret)
{
	char *variable = th_format("LD_PRELOAD=%s", preload);

	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS(
					 variable, "TWINHEAP_INTERVAL=0", "TWINHEAP_SEED=1")},
		ret);
	th_recording_load(ret);
	free(variable);
}

static bool
sees_mallocx(const struct th_recording *recording)
{
	return json_is_true(json_object_get(json_array_get(recording->truth, 0), "mallocx"));
}

/* As the next allocator */

/* Everything that the program requested, counted once; what it kept is live. */
static void
check_all_is_seen(const char *preload)
{
	struct th_recording none, all;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "none"), preload, &none);
	record(TH_WORDS(TH_ALLOCATOR_CALLS, "all"), preload, &all);
	th_allocators_check_exact(&all, &none);
	assert_true(th_allocators_count(&all, "native_free") -
			    th_allocators_count(&none, "native_free") ==
		    th_allocators_truth(&all, "frees"));
	assert_true(th_allocators_native(&all, "live_objects") -
			    th_allocators_native(&none, "live_objects") ==
		    KEPT_OBJECTS);
	assert_true(th_allocators_truth(&all, "objects") - th_allocators_truth(&all, "frees") ==
		    KEPT_OBJECTS);
	assert_string_equal(all.outcome.errors, "");
	th_recording_deinit(&none);
	th_recording_deinit(&all);
}

static void
all_is_seen(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);

	check_all_is_seen(preload);
	free(preload);
	free(path);
}

/*
 * An allocator that calls its own functions by their public names, which are ours, and one that
 * does not.
 */
static void
calls_of_the_allocator_itself_do_not_count(void **state)
{
	static const char *const values[] = {
		"alloc_bytes", "alloc_objects", "live_bytes", "live_objects"};
	const char *const *command = TH_WORDS(TH_ALLOCATOR_CALLS, "all");
	struct th_recording plain, nested;

	(void)state;
	record(command, TH_LIBRARY ":" TH_PROGRAM("libbump.so"), &plain);
	record(command, TH_LIBRARY ":" TH_PROGRAM("libnested.so"), &nested);
	assert_true(th_allocators_native(&plain, "alloc_objects") >=
		    th_allocators_truth(&plain, "objects"));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(th_allocators_native(&nested, values[i]) ==
			    th_allocators_native(&plain, values[i]));
	assert_true(th_allocators_count(&nested, "native_free") ==
		    th_allocators_count(&plain, "native_free"));
	th_recording_deinit(&plain);
	th_recording_deinit(&nested);
}

/* The order of our libraries does not matter. */
static void
all_is_seen_in_another_order(void **state)
{
	char *path = path_or_skip(state);
	char *preload = th_format("%s:%s:%s:%s", TH_FORWARD_NEW,
		allocator_of(state)->has_mallocx ? TH_FORWARD_MALLOCX : "", TH_LIBRARY, path);

	check_all_is_seen(preload);
	free(preload);
	free(path);
}

static void
sampled_totals_are_exact(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	char *variable = th_format("LD_PRELOAD=%s", preload);
	struct th_recording none, all;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "none"), preload, &none);
	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS(TH_ALLOCATOR_CALLS, "all"),
			.settings = TH_WORDS(
				variable, "TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1")},
		&all);
	th_recording_load(&all);
	assert_true(th_recording_total(&all, "native", "alloc_bytes").exact);
	assert_true(th_allocators_native(&all, "alloc_bytes") -
			    th_allocators_native(&none, "alloc_bytes") ==
		    th_allocators_truth(&all, "bytes"));
	th_recording_deinit(&none);
	th_recording_deinit(&all);
	free(variable);
	free(preload);
	free(path);
}

/* A failed allocation is not counted, and exceptions pass through the library. */
static void
exceptions_of_new(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	struct th_recording none, throwing;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "none"), preload, &none);
	record(TH_WORDS(TH_ALLOCATOR_CALLS, "throw"), preload, &throwing);
	double objects = th_allocators_count(&throwing, "native_free") -
			 th_allocators_count(&none, "native_free");
	/* Each exception is a block allocated by the C++ runtime. */
	assert_true(objects >= th_allocators_truth(&throwing, "objects"));
	assert_true(th_allocators_native(&throwing, "live_bytes") ==
		    th_allocators_native(&none, "live_bytes"));
	assert_true(th_allocators_native(&throwing, "alloc_bytes") < 16e6);
	th_recording_deinit(&none);
	th_recording_deinit(&throwing);
	free(preload);
	free(path);
}

/* Without the second library the program runs as well, and the log reports what is missing. */
static void
operators_unseen_are_told(void **state)
{
	char *path = path_or_skip(state);
	char *preload = th_format("%s:%s", TH_LIBRARY, path);
	struct th_recording recording;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "all"), preload, &recording);
	assert_true(
		th_allocators_says(&recording, "is not recorded, and with it C++ allocations"));
	assert_int_equal(th_allocators_says(&recording, "mallocx of "),
		allocator_of(state)->has_mallocx);
	assert_true(th_allocators_native(&recording, "alloc_bytes") <
		    th_allocators_truth(&recording, "bytes"));
	assert_string_equal(recording.outcome.errors, "");
	th_recording_deinit(&recording);
	free(preload);
	free(path);
}

/* With them the only note names the provider of malloc. */
static void
the_allocator_is_named(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	char *line = th_format("malloc is provided by %s\n", path);
	struct th_recording recording;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "none"), preload, &recording);
	assert_true(th_allocators_says(&recording, line));
	assert_false(th_allocators_says(&recording, "unseen"));
	th_recording_deinit(&recording);
	free(line);
	free(preload);
	free(path);
}

/* mallocx is defined if and only if the allocator defines it. */
static void
nobody_is_taken_for_jemalloc(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	struct th_recording recording;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "none"), preload, &recording);
	assert_int_equal(sees_mallocx(&recording), allocator_of(state)->has_mallocx);
	th_recording_deinit(&recording);
	free(preload);
	free(path);
}

/* Before us */

/*
 * Nothing is recorded, nothing breaks, and the preceding allocator is named on stderr and in
 * the log.
 */
static void
in_front_of_us(void **state)
{
	char *path = path_or_skip(state);
	char *preload = th_format("%s:%s", path, TH_LIBRARY);
	char *line = th_format("the malloc of %s precedes the library", path);
	struct th_recording recording;

	record(TH_WORDS(TH_ALLOCATOR_CALLS, "common"), preload, &recording);
	assert_true(th_allocators_says(&recording, line));
	assert_non_null(strstr(recording.outcome.errors, line));
	assert_true(th_allocators_says(&recording, "name libtwinheap.so first in LD_PRELOAD"));
	assert_true(th_allocators_count(&recording, "native_alloc") == 0);
	th_recording_deinit(&recording);
	free(line);
	free(preload);
	free(path);
}

/* Processes and threads */

/* Children by fork while others allocate; the heap of the child works. */
static void
fork_storm(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	struct th_recording recording;

	record(TH_WORDS(TH_PROGRAM("process_children"), "storm", "100"), preload, &recording);
	assert_true(th_allocators_count(&recording, "native_alloc") > 0);
	th_recording_deinit(&recording);
	free(preload);
	free(path);
}

static void
threads_are_exact(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	struct th_recording none, all;

	record(TH_WORDS(TH_PROGRAM("native_threads"), "200", "8", "0"), preload, &none);
	record(TH_WORDS(TH_PROGRAM("native_threads"), "200", "8", "20"), preload, &all);
	assert_true(th_allocators_native(&all, "alloc_bytes") -
			    th_allocators_native(&none, "alloc_bytes") ==
		    th_allocators_truth(&all, "bytes"));
	th_recording_deinit(&none);
	th_recording_deinit(&all);
	free(preload);
	free(path);
}

/* jemalloc's background threads start inside malloc, and allocate themselves. */
static void
threads_of_the_allocator(void **state)
{
	char *path = path_or_skip(state);
	char *preload = over(allocator_of(state), path);
	char *variable = th_format("LD_PRELOAD=%s", preload);
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS(TH_ALLOCATOR_CALLS, "all"),
			.settings = TH_WORDS(variable, "TWINHEAP_INTERVAL=0",
				"MALLOC_CONF=background_thread:true,dirty_decay_ms:1")},
		&recording);
	th_recording_load(&recording);
	assert_true(th_allocators_native(&recording, "alloc_bytes") >=
		    th_allocators_truth(&recording, "bytes"));
	th_recording_deinit(&recording);
	free(variable);
	free(preload);
	free(path);
}

#define OVER(function, name, number)                              \
	{                                                         \
#		function " over " name, function, NULL, NULL,    \
			(void *)(uintptr_t)&th_allocators[number] \
	}
#define OVER_JEMALLOC(function) OVER(function, "jemalloc", 0)
#define OVER_TCMALLOC(function) OVER(function, "tcmalloc", 1)
#define OVER_MIMALLOC(function) OVER(function, "mimalloc", 2)
#define OVER_ALL(function) \
	OVER_JEMALLOC(function), OVER_TCMALLOC(function), OVER_MIMALLOC(function)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OVER_ALL(all_is_seen),
		cmocka_unit_test(calls_of_the_allocator_itself_do_not_count),
		OVER_ALL(all_is_seen_in_another_order),
		OVER_ALL(sampled_totals_are_exact),
		OVER_JEMALLOC(exceptions_of_new),
		/* mimalloc 2.0 ends the process where operator new should throw. */
		OVER_TCMALLOC(exceptions_of_new),
		OVER_ALL(operators_unseen_are_told),
		OVER_ALL(the_allocator_is_named),
		OVER_ALL(nobody_is_taken_for_jemalloc),
		OVER_ALL(in_front_of_us),
		OVER_ALL(fork_storm),
		OVER_ALL(threads_are_exact),
		OVER_JEMALLOC(threads_of_the_allocator),
	};

	return cmocka_run_group_tests_name("allocators", tests, NULL, NULL);
}
