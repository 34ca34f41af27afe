/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of another C library than the one that the library was built with: it records their C
 * heap, and they behave as without it.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *directory;

static char *
compile(const char *name, const char *flags)
{
	char *path = th_format("%s/%s", directory, name);
	char *command = th_format("musl-gcc -g -O2 -D_GNU_SOURCE -I" TH_TEST_SOURCE
				  " -o %s " TH_TEST_SOURCE "/tests/programs/%s.c -pthread %s",
		path, name, flags);

	free(th_command_output(TH_WORDS("sh", "-c", command)));
	free(command);
	return path;
}

static void
record(const char *const *command, struct th_recording *ret)
{
	th_recording_run(&(struct th_recording_plan){.arguments = command,
				 .settings = TH_WORDS("TWINHEAP_INTERVAL=0")},
		ret);
	assert_string_equal(ret->outcome.errors, "");
	th_recording_load(ret);
}

static void
sites_are_exact(void **state)
{
	char *program = compile("native_sites", "");
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(program, "1000000"), &recording);
	assert_int_equal(json_array_size(recording.truth), 9);
	for (size_t i = 0; i < 9; i++) {
		const json_t *truth = json_array_get(recording.truth, i);
		struct th_stack_filter filter = {
			.frame = json_string_value(json_object_get(truth, "site"))};
		struct th_figure figure = th_recording_sum(
			&recording, &filter, "alloc_objects");

		assert_true(figure.estimate ==
			    json_number_value(json_object_get(truth, "objects")));
	}
	th_recording_deinit(&recording);
	free(program);
}

/* Each thread ends with its stack and its thread-local storage. */
static void
threads_are_exact(void **state)
{
	char *program = compile("native_threads", "");
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(program, "500", "8", "20"), &recording);
	const json_t *truth = json_array_get(recording.truth, 0);
	struct th_stack_filter filter = {
		.frame = json_string_value(json_object_get(truth, "site"))};
	struct th_figure figure = th_recording_sum(&recording, &filter, "alloc_objects");
	assert_true(figure.estimate == json_number_value(json_object_get(truth, "objects")));
	th_recording_deinit(&recording);
	free(program);
}

/* Without _dl_find_object: the first blocks of a library just loaded already have names. */
static void
names_follow_the_loader(void **state)
{
	char *program = compile("native_loading", "");
	char *visitor = compile("libvisitor", "-shared -fPIC");
	struct th_stack_filter filter = {.frame = "visitor_site"};
	struct th_recording recording;

	(void)state;
	record(TH_WORDS(program, visitor, directory, "3"), &recording);
	struct th_figure figure = th_recording_sum(&recording, &filter, "alloc_objects");
	/*
	 * Three threads load three copies each, which allocate five blocks.  On a busy machine a
	 * thread may give up waiting for the snapshot of another one: one copy then has no name.
	 */
	assert_in_range((uintmax_t)figure.estimate, 2 * 3 * 5, 3 * 3 * 5);
	th_recording_deinit(&recording);
	free(visitor);
	free(program);
}

static void
children_end_as_they_would(void **state)
{
	static const char *const ways[] = {"fork", "_exit", "vfork", "clone", "bare", NULL};
	char *program = compile("process_children", "");

	(void)state;
	for (size_t i = 0; ways[i]; i++) {
		struct th_outcome plain, followed;

		th_command_run(&(struct th_command){.arguments = TH_WORDS(program, ways[i]),
				       .directory = directory},
			&plain);
		th_command_run(&(struct th_command){.arguments = TH_WORDS(program, ways[i]),
				       .directory = directory,
				       .environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY,
					       "TWINHEAP_FOLLOW=all", "TWINHEAP_INTERVAL=0")},
			&followed);
		assert_int_equal(followed.status, plain.status);
		assert_int_equal(followed.signal, plain.signal);
		assert_string_equal(followed.errors, plain.errors);
		th_outcome_deinit(&plain);
		th_outcome_deinit(&followed);
	}
	free(program);
}

static void
run_records_it(void **state)
{
	char *program = compile("native_sites", "");
	struct th_outcome outcome;

	(void)state;
	th_command_check(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "--follow", "all",
					     "-o", "run.thl", "--", program, "64000000"),
			.directory = directory},
		&outcome);
	assert_non_null(strstr(outcome.errors, "recorded in"));
	th_outcome_deinit(&outcome);
	free(program);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_exact),
		cmocka_unit_test(threads_are_exact),
		cmocka_unit_test(names_follow_the_loader),
		cmocka_unit_test(children_end_as_they_would),
		cmocka_unit_test(run_records_it),
	};

	if (system("command -v musl-gcc >/dev/null")) {
		puts("musl-gcc is not installed: left out");
		return 0;
	}
	directory = th_temporary_directory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
