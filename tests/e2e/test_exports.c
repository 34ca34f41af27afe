/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports checked with the tools that read them: the real `go tool pprof`, the schema of
 * speedscope, flamegraph.pl, the JDK's `jfr`.  Their totals must equal those of our own report.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE TH_TEST_SOURCE "/tests/e2e/page.py"

/* Later releases of Go build pprof on first use. */
#define PPROF_SECONDS 400

/* One recording for all tests: exports do not depend on the JVM. */
static struct th_recording recording;

static int
record(void **state)
{
	(void)state;
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = th_jdk_newest(),
			.arguments = TH_WORDS("--volume", "64m"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=7"),
		},
		&recording);
	th_recording_load(&recording);
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	th_recording_deinit(&recording);
	return 0;
}

/* The log exported in a format; the path is to be freed. */
static char *
export_as(const char *format)
{
	char *path = th_format("%s/export.%s", recording.directory, format);

	free(th_command_output(
		TH_WORDS(TH_TOOL, "export", "--format", format, "-o", path, recording.log)));
	return path;
}

/* A file that scripts/install-deps puts into its cache; to be freed. */
static char *
cached(const char *name)
{
	const char *cache = getenv("XDG_CACHE_HOME");

	if (cache && cache[0])
		return th_format("%s/twinheap/%s", cache, name);
	return th_format("%s/.cache/twinheap/%s", getenv("HOME"), name);
}

static void
skip_without(const char *path)
{
	if (access(path, R_OK) == 0)
		return;
	print_message("%s is missing: scripts/install-deps could not fetch it\n", path);
	skip();
}

/* pprof */

static char *
pprof(const char *report, const char *index)
{
	char *path = export_as("pprof");
	char *sample_index = th_format("-sample_index=%s", index);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("go", "tool", "pprof", report, "-unit=B",
				"-nodecount=10000", "-nodefraction=0", sample_index, path),
			.timeout_seconds = PPROF_SECONDS,
		},
		&outcome);
	char *output = strdup(outcome.output);
	th_outcome_deinit(&outcome);
	free(sample_index);
	free(path);
	return output;
}

static void
require_go(void)
{
	struct th_outcome outcome;

	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", "command -v go")},
		&outcome);
	int status = outcome.status;
	th_outcome_deinit(&outcome);
	if (status) {
		print_message("go is missing: scripts/install-deps could not install it\n");
		skip();
	}
}

/*
 * Stacks of a heap with few samples are not scaled to its counted total; they add up to nearly
 * it.
 */
#define FEW_SAMPLES 0.01

/* The part of the mapped memory that holds the Java heap. */
static double
holding_others(const char *value)
{
	const json_t *stacks = json_object_get(recording.report, "stacks");
	double sum = 0;

	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);

		if (json_object_get(stack, "contains"))
			sum += th_figure_read(stack, value).estimate;
	}
	return sum;
}

/*
 * The total read by pprof equals that of our report, without what would count twice, up to a
 * rounding error of one byte per heap.
 */
static void
expect_pprof_total(const char *index, const char *value)
{
	double mapped = th_recording_total(&recording, "mapped", value).estimate;
	double twice = holding_others(value);
	double expected = th_recording_total(&recording, "java", value).estimate +
			  th_recording_total(&recording, "native", value).estimate + mapped -
			  twice;

	assert_true(twice > 0 && twice < mapped);
	char *output = pprof("-top", index);
	const char *total = strstr(output, "Total samples = ");

	assert_non_null(total);
	double found = strtod(total + strlen("Total samples = "), NULL);
	print_message("%s: pprof %.0f, report %.3f\n", index, found, expected);
	assert_true(expected > 0);
	assert_true(fabs(found - expected) <= 3 + FEW_SAMPLES * mapped);
	free(output);
}

static void
test_pprof_totals(void **state)
{
	(void)state;
	require_go();
	expect_pprof_total("alloc_space", "alloc_bytes");
	expect_pprof_total("alloc_objects", "alloc_objects");
	expect_pprof_total("inuse_space", "live_bytes");
	expect_pprof_total("inuse_objects", "live_objects");
}

/* Whether the total of a heap occurs in pprof's format; older versions print a decimal. */
static bool
has_total(const char *output, const char *heap)
{
	double bytes = round(th_recording_total(&recording, heap, "alloc_bytes").estimate);
	char *plain = th_format(" %.0fB", bytes);
	char *decimal = th_format(" %.1fB", bytes);
	bool has = strstr(output, plain) || strstr(output, decimal);

	free(plain);
	free(decimal);
	return has;
}

/* pprof's sums by tag equal the report's sums by heap, class and thread. */
static void
test_pprof_tags(void **state)
{
	(void)state;
	require_go();
	char *output = pprof("-tags", "alloc_space");

	assert_true(has_total(output, "native"));
	assert_true(has_total(output, "java"));
	assert_non_null(strstr(output, " class: Total"));
	assert_non_null(strstr(output, " thread: Total"));
	assert_non_null(strstr(output, ": byte[]\n"));
	free(output);
}

/* A Java method calls a native one, which calls C: pprof shows the same. */
static void
test_pprof_peek(void **state)
{
	(void)state;
	require_go();
	char *output = pprof("-peek=gallery_photo_buffer$", "alloc_space");
	const char *callee = strstr(output, "| gallery_photo_buffer");
	const char *caller = strstr(output, "|   Java_mixed_Gallery_thumbnail");

	assert_non_null(callee);
	assert_non_null(caller);
	assert_true(caller < callee);
	free(output);
}

/*
 * Mappings have build ids, locations of native code have addresses inside one, Java code has
 * lines.
 */
static void
test_pprof_places(void **state)
{
	(void)state;
	require_go();
	char *output = pprof("-raw", "alloc_space");
	const char *mappings = strstr(output, "\nMappings\n");
	const char *locations = strstr(output, "\nLocations\n");

	assert_non_null(locations);
	assert_non_null(mappings);
	assert_non_null(strstr(locations, "gallery_photo_buffer"));
	assert_non_null(strstr(locations, " mixed.Gallery.readPhoto Gallery.java:"));
	const char *library = strstr(mappings, "libmixed.so ");
	assert_non_null(library);
	/* "1: 0x7f00/0x7f01/0x0 PATH BUILD-ID [FN]...": twenty bytes as by ld --build-id. */
	assert_int_equal(strspn(library + strlen("libmixed.so "), "0123456789abcdef"), 40);
	free(output);
}

/* Other readers */

static void
test_speedscope_schema(void **state)
{
	char *schema = cached("speedscope-1.22.2/dist/release/file-format-schema.json");

	(void)state;
	skip_without(schema);
	char *path = export_as("speedscope");
	free(th_command_output(
		TH_WORDS("python3", "-W", "ignore", "-m", "jsonschema", "-i", path, schema)));
	free(path);
	free(schema);
}

/* The documented schema of leaks --json allows no member and no type that it does not name. */
static void
test_leaks_schema(void **state)
{
	char *path = th_format("%s/leaks.json", recording.directory);
	char *json = th_command_output(TH_WORDS(TH_TOOL, "leaks", "--json", recording.log));
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	assert_non_null(strstr(json, "\"findings\": [\n"));
	fputs(json, file);
	assert_int_equal(fclose(file), 0);
	free(th_command_output(TH_WORDS("python3", "-W", "ignore", "-m", "jsonschema", "-i",
		path, "docs/leaks.schema.json")));
	free(json);
	free(path);
}

/* Weights of each profile add up to the report's total. */
static void
test_speedscope_totals(void **state)
{
	char *path = export_as("speedscope");
	json_t *root = json_load_file(path, 0, NULL);
	json_t *profiles = json_object_get(root, "profiles");

	(void)state;
	assert_int_equal(json_array_size(profiles), 15);
	static const char *const heaps[] = {"java", "native", "mapped"};
	static const char *const values[] = {
		"alloc_bytes", "alloc_objects", "live_bytes", "live_objects", "temp_bytes"};
	for (size_t i = 0; i < 15; i++) {
		json_t *profile = json_array_get(profiles, i);
		double expected =
			th_recording_total(&recording, heaps[i % 3], values[i / 3]).estimate;
		double tolerance = i % 3 == 2 ? FEW_SAMPLES : 1e-6;
		double sum = 0;
		size_t k;
		json_t *weight;

		json_array_foreach(json_object_get(profile, "weights"), k, weight)
			sum += json_number_value(weight);
		assert_int_equal(json_array_size(json_object_get(profile, "samples")), k);
		assert_true(fabs(sum - expected) <= tolerance * expected);
	}
	json_decref(root);
	free(path);
}

/* The real page of speedscope, in a browser: name, profiles and sums equal ours. */
static void
test_speedscope_page(void **state)
{
	char *index = cached("speedscope-1.22.2/dist/release/index.html");
	struct th_outcome outcome;

	(void)state;
	skip_without(index);
	th_command_run(&(struct th_command){.arguments = TH_WORDS("python3", PAGE, "--check")},
		&outcome);
	int status = outcome.status;
	th_outcome_deinit(&outcome);
	if (status) {
		print_message("chromium or chromedriver is missing\n");
		skip();
	}
	char *path = export_as("speedscope");
	char *report = export_as("json");
	char *said = th_command_output(
		TH_WORDS("python3", PAGE, "speedscope", index, report, TH_TOOL, path));
	print_message("%s", said);
	free(said);
	free(report);
	free(path);
	free(index);
}

/* The script for which the format was designed. */
static void
test_flamegraph_script(void **state)
{
	static const char program[] = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
	struct th_outcome outcome;

	(void)state;
	skip_without(program);
	char *path = export_as("collapsed");
	th_command_check(
		&(struct th_command){.arguments = TH_WORDS("perl", program, path)}, &outcome);
	assert_string_equal(outcome.errors, "");
	assert_non_null(strstr(outcome.output, "gallery_photo_buffer"));
	th_outcome_deinit(&outcome);
	free(path);
}

/* JFR */

/* Whether the JDK has the tool; to be freed. */
static char *
jfr_tool(const struct th_jdk *jdk)
{
	char *path = th_format("%s/bin/jfr", jdk->home);

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* The number of events of a type in the output of `jfr summary`; -1: the type is unknown. */
static long
count_of(const char *summary, const char *type)
{
	char *wanted = th_format(" %s ", type);
	const char *at = strstr(summary, wanted);
	long count = at ? strtol(at + strlen(wanted), NULL, 10) : -1;

	free(wanted);
	return count;
}

/* Every JDK reads the recording to its end. */
static void
test_jfr_summary(void **state)
{
	static const char *const types[] = {"jdk.ObjectAllocationSample", "jdk.OldObjectSample",
		"profiler.Malloc", "profiler.Free", "jdk.GarbageCollection",
		"jdk.GCHeapSummary"};
	const struct th_jdk *jdks;
	size_t count = th_jdk_list(&jdks);
	char *path = export_as("jfr");

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char *tool = jfr_tool(&jdks[i]);

		if (!tool)
			continue;
		char *summary = th_command_output(TH_WORDS(tool, "summary", path));
		for (size_t j = 0; j < sizeof(types) / sizeof(types[0]); j++)
			assert_true(count_of(summary, types[j]) > 0);
		free(summary);
		free(tool);
	}
	free(path);
}

/* The sum of a field over all events of a type, by `jfr print` of the newest JDK. */
static double
jfr_sum(const json_t *events, const char *type, const char *field)
{
	double sum = 0;
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		if (strcmp(json_string_value(json_object_get(event, "type")), type) == 0)
			sum += json_number_value(
				json_object_get(json_object_get(event, "values"), field));
	}
	return sum;
}

/* The sum over the stacks of a heap, as the report has it. */
static double
stacks_sum(const char *heap, const char *value)
{
	const json_t *stacks = json_object_get(recording.report, "stacks");
	double sum = 0;
	json_t *stack;
	size_t i;

	json_array_foreach(stacks, i, stack)
	{
		if (strcmp(json_string_value(json_object_get(stack, "heap")), heap) == 0)
			sum += th_figure_read(stack, value).estimate;
	}
	return sum;
}

/* A stack of an allocation of Java that goes through a method and begins in C. */
static bool
has_mixed_stack(const json_t *events)
{
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		char *text = json_dumps(event, JSON_COMPACT);
		bool is_mixed = strstr(text, "\"profiler.Malloc\"") &&
				strstr(text, "\"mixed/Gallery\"") &&
				strstr(text, "\"gallery_photo_buffer\"") &&
				strstr(text, "\"Native\"") && strstr(text, "\"JIT compiled\"");

		free(text);
		if (is_mixed)
			return true;
	}
	return false;
}

static void
test_jfr_totals(void **state)
{
	char *path = export_as("jfr");
	char *tool = jfr_tool(th_jdk_newest());

	(void)state;
	if (!tool)
		skip();
	char *output = th_command_output(
		TH_WORDS(tool, "print", "--json", "--stack-depth", "64", path));
	json_t *root = json_loads(output, 0, NULL);
	json_t *events = json_object_get(json_object_get(root, "recording"), "events");
	/* Exact but for the rounding of a heap's sum. */
	const struct {
		const char *type, *field, *heap, *value;
	} sums[] = {
		{"jdk.ObjectAllocationSample", "weight", "java", "alloc_bytes"},
		{"jdk.OldObjectSample", "weight", "java", "live_bytes"},
		{"profiler.Malloc", "size", "native", "alloc_bytes"},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		double found = jfr_sum(events, sums[i].type, sums[i].field);
		double expected = stacks_sum(sums[i].heap, sums[i].value);

		print_message("%s: jfr %.0f, report %.3f\n", sums[i].type, found, expected);
		assert_true(expected > 0);
		assert_true(fabs(found - expected) <= 1 + 1e-9 * expected);
	}
	assert_true(has_mixed_stack(events));
	json_decref(root);
	free(output);
	free(tool);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jfr_summary),
		cmocka_unit_test(test_jfr_totals),
		cmocka_unit_test(test_pprof_totals),
		cmocka_unit_test(test_pprof_tags),
		cmocka_unit_test(test_pprof_peek),
		cmocka_unit_test(test_pprof_places),
		cmocka_unit_test(test_speedscope_schema),
		cmocka_unit_test(test_leaks_schema),
		cmocka_unit_test(test_speedscope_totals),
		cmocka_unit_test(test_speedscope_page),
		cmocka_unit_test(test_flamegraph_script),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
