/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `run` and the allocators of its command: a requested one, a preloaded one, one that the
 * program is linked with, its own; plugins that prefer their own definitions; sanitizers and
 * valgrind, which are allocators too.
 */
#include "tests/e2e/allocators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCES TH_TEST_SOURCE "/tests/programs/"

/* Runs a command at interval 0 by the tool, with additional options and variables. */
static void
record(const char *const *options, const char *const *variables, const char *const *command,
	struct th_recording *ret)
{
	const char *arguments[24] = {TH_TOOL, "run", "-q", "-i", "0"};
	const char *settings[8] = {"LD_PRELOAD"};
	size_t count = 5;
	size_t setting_count = 1;

	for (; options && *options; options++)
		arguments[count++] = *options;
	for (; *command; command++)
		arguments[count++] = *command;
	for (; variables && *variables; variables++)
		settings[setting_count++] = *variables;
	th_recording_run(
		&(struct th_recording_plan){.arguments = arguments, .settings = settings}, ret);
	th_recording_load(ret);
}

/* "common" of a program like allocator_calls, exact against "none". */
static void
check_exact(const char *program, const char *const *options, const char *const *variables,
	struct th_recording *common_ret)
{
	struct th_recording none;

	record(options, variables, TH_WORDS(program, "none"), &none);
	record(options, variables, TH_WORDS(program, "common"), common_ret);
	th_allocators_check_exact(common_ret, &none);
	th_recording_deinit(&none);
}

/* The path of an allocator; prints a line if it is missing. */
static char *
path_or_line(const struct th_allocator *allocator)
{
	char *path = th_allocator_path(allocator);

	if (!path)
		print_message("%s is not installed\n", allocator->name);
	return path;
}

/* Requested or preloaded */

static void
by_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_ALLOCATORS; i++) {
		char *path = path_or_line(&th_allocators[i]);
		struct th_recording recording;

		if (!path)
			continue;
		check_exact(TH_ALLOCATOR_CALLS, TH_WORDS("--allocator", th_allocators[i].name),
			NULL, &recording);
		assert_true(th_allocators_says(&recording, path));
		assert_false(th_allocators_says(&recording, "unseen"));
		th_recording_deinit(&recording);
		free(path);
	}
}

/*
 * LD_PRELOAD was set before: our libraries are put first, with the forwarding libraries needed.
 */
static void
preloaded_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_ALLOCATORS; i++) {
		char *path = path_or_line(&th_allocators[i]);
		char *variable = th_format("LD_PRELOAD=%s", path ? path : "");
		struct th_recording recording;

		if (path) {
			check_exact(TH_ALLOCATOR_CALLS, NULL, TH_WORDS(variable), &recording);
			assert_false(th_allocators_says(&recording, "unseen"));
			th_recording_deinit(&recording);
		}
		free(variable);
		free(path);
	}
}

/*
 * A program linked with its allocator.  Its children are not, and must not see mallocx because
 * of us: so mallocx is not recorded, and the log reports that.
 */
static void
linked_in(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_ALLOCATORS; i++) {
		char *path = path_or_line(&th_allocators[i]);
		char *program = th_format("%s/linked", th_temporary_directory());
		struct th_recording recording;

		if (path) {
			free(th_command_output(TH_WORDS("g++", "-std=c++17", "-O1", "-o",
				program, SOURCES "allocator_calls.cpp", "-Wl,--no-as-needed",
				path)));
			record(NULL, NULL, TH_WORDS(program, "common"), &recording);
			assert_false(th_allocators_says(&recording, "operator new of"));
			assert_int_equal(th_allocators_says(&recording, "mallocx of"),
				th_allocators[i].has_mallocx);
			assert_true(th_allocators_says(&recording, th_allocators[i].file));
			th_recording_deinit(&recording);
		}
		free(program);
		free(path);
	}
}

static void
what_is_not_there_is_told(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "--allocator",
						    "/no/such/library.so", "true"),
			       .directory = th_temporary_directory()},
		&outcome);
	assert_int_equal(outcome.status, 2);
	assert_string_equal(outcome.errors, "twinheap: --allocator /no/such/library.so: "
					    "neither jemalloc, tcmalloc, mimalloc "
					    "nor a library that can be read\n");
	th_outcome_deinit(&outcome);
}

/* Only our own library if no forwarding library is needed. */
static void
libc_needs_nothing(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_check(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "-q",
						      "printenv", "LD_PRELOAD"),
				 .environment = TH_WORDS("LD_PRELOAD"),
				 .directory = th_temporary_directory()},
		&outcome);
	assert_string_equal(outcome.output, TH_LIBRARY "\n");
	th_outcome_deinit(&outcome);
}

/* Programs with their own allocator */

static void
program_that_defines_malloc(void **state)
{
	struct th_recording recording;

	(void)state;
	record(NULL, NULL, TH_WORDS(TH_PROGRAM("own_malloc")), &recording);
	assert_string_equal(recording.outcome.output, "mine: 5\n");
	assert_true(th_allocators_says(
		&recording, "own_malloc defines malloc itself: the C heap is not recorded"));
	assert_non_null(strstr(recording.outcome.errors, "defines malloc itself"));
	assert_true(th_allocators_count(&recording, "native_alloc") == 0);
	th_recording_deinit(&recording);
}

/* A C++ runtime in a separate scope; also with libtwinheap-new.so, which it is bound to. */
static void
plugin_with_its_own_runtime(void **state)
{
	static const char *const preloads[] = {
		"LD_PRELOAD=" TH_LIBRARY, "LD_PRELOAD=" TH_LIBRARY ":" TH_FORWARD_NEW};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct th_recording none, all;

		for (size_t is_all = 0; is_all < 2; is_all++) {
			struct th_recording *ret = is_all ? &all : &none;

			th_recording_run(
				&(struct th_recording_plan){
					.arguments = TH_WORDS(TH_PROGRAM("plugin_host"),
						"local", is_all ? NULL : "none"),
					.settings = TH_WORDS(
						preloads[i], "TWINHEAP_INTERVAL=0"),
				},
				ret);
			/* All blocks are freed within the program's last moments. */
			th_recording_load_with(ret, TH_WORDS("--at", "exit"));
		}
		th_allocators_check_exact(&all, &none);
		assert_true(th_allocators_native(&all, "live_objects") ==
			    th_allocators_native(&none, "live_objects"));
		th_recording_deinit(&none);
		th_recording_deinit(&all);
	}
}

/*
 * Allocations by the functions it prefers are not seen; blocks of others that it frees appear
 * live; nothing breaks.
 */
static void
plugin_that_prefers_its_own(void **state)
{
	struct th_recording none, all;

	(void)state;
	record(NULL, NULL, TH_WORDS(TH_PROGRAM("plugin_host"), "deepbind", "none"), &none);
	record(NULL, NULL, TH_WORDS(TH_PROGRAM("plugin_host"), "deepbind"), &all);
	th_allocators_check_exact(&all, &none);
	th_recording_deinit(&none);
	th_recording_deinit(&all);
}

/* Tools that are allocators */

/* Builds a program with AddressSanitizer, or skips. */
static char *
build_sanitized(const char *source)
{
	char *program = th_format("%s/sanitized", th_temporary_directory());
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS("g++", "-std=c++17", "-O1", "-g",
					     "-fsanitize=address", "-o", program, source)},
		&outcome);
	if (outcome.status != 0) {
		print_message("g++ cannot build with AddressSanitizer\n");
		skip();
	}
	th_outcome_deinit(&outcome);
	return program;
}

/* Its allocator is the next one, its checks work, and both count. */
static void
address_sanitizer(void **state)
{
	char *program = build_sanitized(SOURCES "allocator_calls.cpp");
	struct th_recording recording;

	(void)state;
	check_exact(program, NULL, TH_WORDS("ASAN_OPTIONS=detect_leaks=0"), &recording);
	assert_string_equal(recording.outcome.errors, "");
	assert_true(th_allocators_says(&recording, "malloc is provided by "));
	th_recording_deinit(&recording);
	free(program);
}

static void
address_sanitizer_finds_what_it_finds(void **state)
{
	char *program = build_sanitized(SOURCES "heap_overflow.c");
	struct th_outcome outcome;

	(void)state;
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "-q", "-i",
						    "0", "--", program),
			       .directory = th_temporary_directory()},
		&outcome);
	assert_true(outcome.status != 0);
	assert_non_null(strstr(outcome.errors, "heap-buffer-overflow"));
	th_outcome_deinit(&outcome);
	free(program);
}

/* Runs a program in valgrind, or skips. */
static void
record_in_valgrind(const char *option, struct th_recording *ret)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS("sh", "-c", "command -v valgrind")},
		&outcome);
	if (outcome.status != 0) {
		print_message("valgrind is not installed\n");
		skip();
	}
	th_outcome_deinit(&outcome);
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS("valgrind", "--error-exitcode=9", option,
				"--suppressions=" TH_TEST_SOURCE "/docs/valgrind.supp",
				TH_PROGRAM("native_sites"), "1000000"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1"),
		},
		ret);
	th_recording_load(ret);
	assert_non_null(strstr(ret->outcome.errors, "ERROR SUMMARY: 0 errors"));
}

/*
 * It replaces every malloc by its own, including ours: this is reported, so that a heap of 0
 * bytes is not misread.
 */
static void
valgrind_replaces_malloc(void **state)
{
	struct th_recording recording;

	(void)state;
	record_in_valgrind("--leak-check=no", &recording);
	assert_true(th_allocators_says(
		&recording, "calls of malloc are redirected past the library"));
	assert_true(th_allocators_count(&recording, "native_alloc") == 0);
	th_recording_deinit(&recording);
}

/* When told to replace only libc's, it is the next allocator. */
static void
valgrind_replaces_that_of_libc(void **state)
{
	struct th_recording recording;

	(void)state;
	record_in_valgrind("--soname-synonyms=somalloc=nouserintercepts", &recording);
	th_recording_check_sites(&recording, "native", "alloc_bytes");
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_option),
		cmocka_unit_test(preloaded_before),
		cmocka_unit_test(linked_in),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(libc_needs_nothing),
		cmocka_unit_test(program_that_defines_malloc),
		cmocka_unit_test(plugin_with_its_own_runtime),
		cmocka_unit_test(plugin_that_prefers_its_own),
		cmocka_unit_test(address_sanitizer),
		cmocka_unit_test(address_sanitizer_finds_what_it_finds),
		cmocka_unit_test(valgrind_replaces_malloc),
		cmocka_unit_test(valgrind_replaces_that_of_libc),
	};

	return cmocka_run_group_tests_name("allocators_run", tests, NULL, NULL);
}
