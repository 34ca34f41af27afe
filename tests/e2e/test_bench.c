/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/run measures and writes its results, and nothing else, into a page; bench/gate and
 * bench/services/run: one run with the shortest cases.  The figures themselves are not checked.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BENCH TH_TEST_SOURCE "/bench/run"
#define PAGE TH_TEST_SOURCE "/docs/benchmarks.md"
#define GATE TH_TEST_SOURCE "/bench/gate"
#define SERVICES TH_TEST_SOURCE "/bench/services/run"
#define SERVICES_PAGE TH_TEST_SOURCE "/bench/services/README.md"

/* The blocks of docs/benchmarks.md and the commands that write them. */
static const char *const blocks[] = {"machine", "pairs", "jni", "programs", "startup",
	"sample-cost", "services-leaks", "services-cost", "services-plain", "classes", "attach",
	"report", "page", NULL};

static char *
read_text(const char *path)
{
	size_t bytes = 0;
	char *text = NULL;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(getdelim(&text, &bytes, '\0', file) > 0);
	fclose(file);
	return text;
}

static void
write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Takes the inside of a block out of the text, and returns it; to be freed. */
static char *
cut_block(char *text, const char *name)
{
	char *start = th_format("<!-- measured: %s -->", name);
	char *end = th_format("<!-- end of %s -->", name);
	char *from = strstr(text, start);
	char *to = strstr(text, end);
	char *inside;

	if (!from || !to || to < from || strstr(from + 1, start) || strstr(to + 1, end))
		fail_msg("not one place for %s", name);
	from += strlen(start);
	inside = strndup(from, (size_t)(to - from));
	memmove(from, to, strlen(to) + 1);
	free(start);
	free(end);
	return inside;
}

static void
page_has_a_place_for_every_block(void **state)
{
	char *text = read_text(PAGE);

	(void)state;
	for (size_t i = 0; blocks[i]; i++)
		free(cut_block(text, blocks[i]));
	free(text);
}

/* One run of the bench: quick, one round, one configuration and the plain run. */
static void
run_bench(const char *page, const char *json, struct th_outcome *ret)
{
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(BENCH, "--build", TH_TEST_BUILD, "--quick",
				"--rounds", "1", "--only", "twinheap, disabled", "--markdown",
				page, "--json", json, "pairs"),
		},
		ret);
}

static void
check_runs(const char *path)
{
	json_t *root = json_load_file(path, 0, NULL);
	json_t *pairs = json_object_get(json_object_get(root, "runs"), "pairs hot 64");

	assert_non_null(json_object_get(json_object_get(root, "machine"), "twinheap"));
	assert_int_equal(json_object_size(pairs), 2);
	assert_int_equal(json_array_size(json_object_get(pairs, "plain")), 1);
	assert_true(json_number_value(json_array_get(json_object_get(pairs, "plain"), 0)) > 0);
	assert_int_equal(json_array_size(json_object_get(pairs, "twinheap, disabled")), 1);
	json_decref(root);
}

static void
tables_go_between_the_markers(void **state)
{
	char *page = th_format("%s/page.md", th_temporary_directory());
	char *json = th_format("%s/runs.json", th_temporary_directory());
	char *before = read_text(PAGE);
	struct th_outcome outcome;
	char *after, *inside;

	(void)state;
	write_text(page, before);
	run_bench(page, json, &outcome);
	if (outcome.status != 0)
		fail_msg("bench/run ended with %d: %s", outcome.status, outcome.errors);
	after = read_text(page);
	free(cut_block(after, "machine"));
	inside = cut_block(after, "pairs");
	assert_non_null(strstr(inside, "### cold"));
	assert_non_null(strstr(inside, "\n| plain | "));
	assert_non_null(strstr(inside, "\n| twinheap, disabled | **"));
	assert_non_null(strstr(inside, "by `bench/run --quick --rounds 1 --only"));
	/* The rest is unchanged. */
	free(cut_block(before, "machine"));
	free(cut_block(before, "pairs"));
	assert_string_equal(after, before);
	check_runs(json);
	th_outcome_deinit(&outcome);
	free(inside);
	free(after);
	free(before);
	free(json);
	free(page);
}

/* A page without markers is rejected before half an hour of measurements. */
static void
page_without_a_place_is_refused_at_once(void **state)
{
	static const char text[] = "<!-- measured: machine -->\n<!-- end of machine -->\n"
				   "<!-- end of pairs -->\n<!-- measured: pairs -->\n";
	char *page = th_format("%s/other.md", th_temporary_directory());
	char *json = th_format("%s/other.json", th_temporary_directory());
	struct th_outcome outcome;
	char *after;

	(void)state;
	write_text(page, text);
	run_bench(page, json, &outcome);
	assert_int_not_equal(outcome.status, 0);
	assert_non_null(strstr(outcome.errors, "no markers for pairs"));
	assert_int_equal(outcome.output_bytes, 0);
	assert_int_not_equal(access(json, F_OK), 0);
	after = read_text(page);
	assert_string_equal(after, text);
	th_outcome_deinit(&outcome);
	free(after);
	free(json);
	free(page);
}

/*
 * The leaks of the services are those marked in their sources, and the page lists them with their
 * lines.
 */
static void
leaks_of_services_are_those_of_the_page(void **state)
{
	char *page = th_format("%s/services.md", th_temporary_directory());
	char *before = read_text(SERVICES_PAGE);
	struct th_outcome outcome;
	char *after;

	(void)state;
	write_text(page, before);
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(SERVICES, "--list", "--markdown", page),
		},
		&outcome);
	if (outcome.status != 0)
		fail_msg(
			"bench/services/run ended with %d: %s", outcome.status, outcome.errors);
	after = read_text(page);
	assert_string_equal(after, before);
	th_outcome_deinit(&outcome);
	free(after);
	free(before);
	free(page);
}

/* Number of regular files in a directory. */
static size_t
count_files(const char *directory)
{
	size_t count = 0;
	DIR *entries = opendir(directory);
	struct dirent *entry;

	assert_non_null(entries);
	while ((entry = readdir(entries)))
		count += entry->d_type == DT_REG;
	closedir(entries);
	return count;
}

/* Runs bench/gate on the shortest cases, and checks its status and that its output has a text. */
static void
run_gate(const char *keep, const char *minutes, const char *expected)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(GATE, "--build", TH_TEST_BUILD, "--b", "-i 512k",
				"--jdk", "", "--seconds", "1", "--minutes", minutes, "--keep",
				keep, "drip"),
		},
		&outcome);
	if (outcome.status != 0)
		fail_msg("bench/gate ended with %d: %s", outcome.status, outcome.errors);
	if (!strstr(outcome.output, expected))
		fail_msg("no \"%s\" in: %s", expected, outcome.output);
	th_outcome_deinit(&outcome);
}

/*
 * Without time nothing runs.  Calls of 0.3 s start one run each, which is longer: the next call
 * continues with the next run.
 */
static void
gate_continues_where_it_stopped(void **state)
{
	char *keep = th_format("%s/gate", th_temporary_directory());

	(void)state;
	if (access(TH_TEST_BUILD "/bench/services/services.jar", F_OK) != 0)
		skip();
	run_gate(keep, "0", "\n0 runs of a program plain, under A and under B");
	assert_int_equal(count_files(keep), 0);
	for (size_t i = 1; i <= 3; i++) {
		run_gate(keep, "0.005",
			i < 3 ? "\n0 runs of a program" : "\n1 runs of a program");
		assert_int_equal(count_files(keep), i);
	}
	run_gate(keep, "0", "\n| CPU time per step, compared with plain | ");
	assert_int_equal(count_files(keep), 3);
	free(keep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_has_a_place_for_every_block),
		cmocka_unit_test(tables_go_between_the_markers),
		cmocka_unit_test(page_without_a_place_is_refused_at_once),
		cmocka_unit_test(leaks_of_services_are_those_of_the_page),
		cmocka_unit_test(gate_continues_where_it_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
