/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks and diff over the recordings of several processes: of a C program whose allocations are
 * known, and of Java programs of two versions on different JDKs, one of which leaks. Faults: logs
 * that cannot be read among others, a process that is there twice, nothing to compare.
 */
#include "tests/e2e/corpus.h"
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As in test_leaks.c: some hundred samples of the leak. */
#define SECONDS 4
#define STATUS_UNREAD 7

/* A directory NAME below `directory`; lives as long as the program. */
static char *
make_directory(const char *directory, const char *name)
{
	char *path = th_format("%s/%s", directory, name);

	assert_int_equal(mkdir(path, 0700), 0);
	return path;
}

static void
link_log(const struct th_recording *recording, const char *directory, const char *name)
{
	char *path = th_format("%s/%s", directory, name);

	assert_int_equal(symlink(recording->log, path), 0);
	free(path);
}

static void
write_text(const char *directory, const char *name, const char *text)
{
	char *path = th_format("%s/%s", directory, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	free(path);
}

/* The tool with these arguments must end with this status. */
static void
run_tool(const char *const *arguments, int status, struct th_outcome *outcome)
{
	th_command_run(&(struct th_command){.arguments = arguments}, outcome);
	if (outcome->status != status)
		fail_msg("status %d: %s%s", outcome->status, outcome->output, outcome->errors);
}

static json_t *
read_json(const struct th_outcome *outcome)
{
	json_t *json = json_loads(outcome->output, 0, NULL);

	if (!json)
		fail_msg("no JSON: %s", outcome->output);
	return json;
}

static int
count_lines(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* C */

static void
record_sites(const char *volume, struct th_recording *recording)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(
				TH_TEST_BUILD "/tests/programs/native_sites", volume),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=0"),
		},
		recording);
}

/* The difference of the stack that ends in `leaf`. */
static const json_t *
find_difference(const json_t *report, const char *leaf)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(report, "differences"), i, item)
	{
		const json_t *frames = json_object_get(item, "frames");
		const json_t *last = json_array_get(frames, json_array_size(frames) - 1);

		if (!strcmp(json_string_value(last), leaf))
			return item;
	}
	fail_msg("no difference at %s", leaf);
	return NULL;
}

static double
number(const json_t *object, const char *key, const char *member)
{
	return json_number_value(json_object_get(json_object_get(object, key), member));
}

/*
 * Every allocation is recorded: 256 and 320 KiB at a site before, 512 and 576 KiB after. The change
 * of the mean is 256 KiB exactly, and t(2) sqrt(2 * 32^2) = 194.7 KiB around it.
 */
static void
check_differences(const char *old_logs, const char *new_logs)
{
	const char *const arguments[] = {
		TH_TOOL, "diff", "--json", "--value", "alloc-bytes", old_logs, new_logs, NULL};
	const double kib = 1024;
	struct th_outcome outcome;
	json_t *report;

	run_tool(arguments, 0, &outcome);
	report = read_json(&outcome);
	const json_t *item = find_difference(report, "site_4096");
	const json_t *change = json_object_get(item, "change");
	double high = json_number_value(json_array_get(json_object_get(change, "ci95"), 1));
	assert_true(number(item, "old", "estimate") == 288 * kib);
	assert_true(number(item, "change", "estimate") == 256 * kib);
	assert_float_equal((high - 256 * kib) / kib, 194.7, 0.1);
	assert_true(json_is_false(json_object_get(item, "may_be_chance")));
	assert_string_equal(json_string_value(json_object_get(report, "new")), new_logs);
	json_decref(report);
	th_outcome_deinit(&outcome);
}

/* One line for each log that is none; the figures are those of the others. */
static void
check_bad_logs(const char *old_logs, const char *new_logs)
{
	const char *const arguments[] = {
		TH_TOOL, "diff", "--json", "--value", "alloc-bytes", old_logs, new_logs, NULL};
	struct th_outcome outcome;
	json_t *report;

	write_text(old_logs, "empty.thl", "");
	write_text(new_logs, "foreign.thl", "not a log");
	write_text(new_logs, "notes.txt", "not looked at");
	run_tool(arguments, STATUS_UNREAD, &outcome);
	report = read_json(&outcome);
	assert_int_equal(count_lines(outcome.errors), 2);
	th_assert_contains(outcome.errors, "empty.thl: ");
	th_assert_contains(outcome.errors, "foreign.thl: ");
	assert_true(number(report, "logs", "read") == 4);
	assert_true(number(report, "logs", "unreadable") == 2);
	assert_true(number(find_difference(report, "site_4096"), "change", "estimate") ==
		    256 * 1024);
	json_decref(report);
	th_outcome_deinit(&outcome);
}

static void
expect_error(int status, const char *message, const char *const *arguments)
{
	struct th_outcome outcome;

	run_tool(arguments, status, &outcome);
	th_assert_contains(outcome.errors, message);
	assert_string_equal(outcome.output, "");
	th_outcome_deinit(&outcome);
}

static void
check_errors(const char *directory, const char *log)
{
	char *empty = make_directory(directory, "nothing");
	char *missing = th_format("%s/missing.thl", directory);

	expect_error(3, "contains no logs", TH_WORDS(TH_TOOL, "leaks", empty));
	expect_error(3, "no log could be read", TH_WORDS(TH_TOOL, "leaks", missing, missing));
	expect_error(2, "nothing to compare", TH_WORDS(TH_TOOL, "diff", "--by", "host", log));
	expect_error(
		2, "takes two logs or directories", TH_WORDS(TH_TOOL, "diff", log, log, log));
	expect_error(2, "--old and --new require --by",
		TH_WORDS(TH_TOOL, "diff", "--old", "1", log, log));
	expect_error(2, "no recording has this directory",
		TH_WORDS(TH_TOOL, "diff", "--by", "directory", "--old", "1", directory));
	free(missing);
	free(empty);
}

static void
test_processes_in_c(void **state)
{
	static const char *const volumes[] = {"262144", "327680", "524288", "589824"};
	const char *directory = th_temporary_directory();
	char *sides[] = {make_directory(directory, "old"), make_directory(directory, "new")};
	struct th_recording recordings[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d.thl", i);
		record_sites(volumes[i], &recordings[i]);
		link_log(&recordings[i], sides[i / 2], name);
	}
	check_differences(sides[0], sides[1]);
	/* The same process under another name. */
	link_log(&recordings[0], sides[0], "again.thl");
	check_differences(sides[0], sides[1]);
	check_bad_logs(sides[0], sides[1]);
	check_errors(directory, recordings[0].log);
	for (int i = 0; i < 4; i++)
		th_recording_deinit(&recordings[i]);
	free(sides[0]);
	free(sides[1]);
}

/* Java */

static void
record_java(const struct th_jdk *jdk, const char *variant, const char *label,
	const char *directory, const char *name)
{
	struct th_recording recording;

	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = "jni-blocks",
			.variant = variant,
			.settings = TH_WORDS("TWINHEAP_SEED=3", label),
			.seconds = SECONDS,
		},
		&recording);
	link_log(&recording, directory, name);
	th_recording_deinit(&recording);
}

/* The finding at the line that leaks. */
static const json_t *
find_finding(const json_t *report)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(report, "findings"), i, finding)
	{
		const char *line = json_string_value(json_object_get(finding, "line"));

		if (strstr(line, "leaks.JniBlocks.request"))
			return finding;
	}
	fail_msg("the leak is not found");
	return NULL;
}

static void
check_leak(const char *directory)
{
	struct th_outcome outcome;
	json_t *report;

	run_tool(TH_WORDS(TH_TOOL, "leaks", "--json", "--fail-on", "leak", "--by", "version",
			 directory),
		1, &outcome);
	report = read_json(&outcome);
	const json_t *groups = json_object_get(report, "groups");
	assert_int_equal(json_array_size(groups), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(groups, 0), "name")), "1.9");
	const json_t *finding = find_finding(report);
	assert_true(th_finding_is(finding, "leak"));
	assert_string_equal(json_string_value(json_object_get(finding, "heap")), "native");
	const json_t *cells = json_object_get(finding, "groups");
	const json_t *last = json_array_get(cells, json_array_size(cells) - 1);
	assert_string_equal(json_string_value(json_object_get(last, "name")), "1.10");
	assert_true(json_integer_value(json_object_get(last, "growing")) == 2);
	assert_true(number(last, "growth_bytes_per_s", "estimate") > 0);
	assert_true(number(last, "growth_bytes_per_s", "processes") == 2);
	if (json_array_size(cells) == 2)
		assert_false(th_finding_is(json_array_get(cells, 0), "leak"));
	json_decref(report);
	th_outcome_deinit(&outcome);
}

/*
 * Version 1.9 does not leak, 1.10 does: the same stack on two JDKs, labelled by the variables of
 * OpenTelemetry and by the library's own.
 */
static void
test_versions_in_java(void **state)
{
	const struct th_jdk *jdks;
	size_t count = th_jdk_list(&jdks);
	char *logs = make_directory(th_temporary_directory(), "logs");
	struct th_outcome outcome;

	(void)state;
	if (!th_corpus_has("jni-blocks"))
		skip();
	record_java(&jdks[0], "leak", "TWINHEAP_LABELS=version=1.10", logs, "a.thl");
	record_java(&jdks[count - 1], "leak",
		"OTEL_RESOURCE_ATTRIBUTES=x=y,service.version=1.10", logs, "b.thl");
	record_java(&jdks[0], "clean", "TWINHEAP_LABELS=version=1.9", logs, "c.thl");
	record_java(&jdks[count - 1], "clean", "OTEL_RESOURCE_ATTRIBUTES=service.version=1.9",
		logs, "d.thl");
	check_leak(logs);
	run_tool(TH_WORDS(TH_TOOL, "diff", "--by", "version", logs), 0, &outcome);
	th_assert_contains(outcome.output, "old  version 1.9: 2 processes\n");
	th_assert_contains(outcome.output, " < leaks.JniBlocks.request, in 2 of 2");
	th_outcome_deinit(&outcome);
	free(logs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_in_c),
		cmocka_unit_test(test_versions_in_java),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
