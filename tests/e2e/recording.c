/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command under the library, loads the tool's JSON, and compares figures with the truth.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/log_format.h"

#define WORDS_MAX 64
/* -ln(0.025) */
#define EMPTY_BOUND 3.689
/* Tolerance of th_figure_covers(), relative to the truth. */
#define FORGIVEN 1e-3
/* Probability with which correct intervals fail th_recording_check_sites(). */
#define COVERAGE_RISK 1e-8
#define MIXED TH_TEST_BUILD "/examples/mixed"

struct words {
	const char *list[WORDS_MAX];
	size_t count;
};

static void
add_word(struct words *words, const char *word)
{
	assert_true(words->count + 1 < WORDS_MAX);
	words->list[words->count++] = word;
	words->list[words->count] = NULL;
}

static void
add_words(struct words *words, const char *const *more)
{
	for (; more && *more; more++)
		add_word(words, *more);
}

/* Parses the lines that are JSON objects; a program may print other lines as well. */
static json_t *
read_truth(const char *output)
{
	json_t *truth = json_array();
	const char *line = output;

	while (*line) {
		size_t length = strcspn(line, "\n");

		if (*line == '{') {
			json_error_t error;
			json_t *entry = json_loadb(line, length, 0, &error);

			if (!entry)
				fail_msg("%.*s: %s", (int)length, line, error.text);
			json_array_append_new(truth, entry);
		}
		line += length + (line[length] == '\n');
	}
	return truth;
}

void
th_recording_run(const struct th_recording_plan *plan, struct th_recording *ret)
{
	struct words environment = {.count = 0};
	struct th_command command = {
		.arguments = plan->arguments,
		.environment = environment.list,
		.timeout_seconds = plan->timeout_seconds,
	};
	char *output;

	memset(ret, 0, sizeof(*ret));
	ret->directory = command.directory = th_temporary_directory();
	ret->log = th_format("%s/log.thl", ret->directory);
	output = th_format("TWINHEAP_OUTPUT=%s", ret->log);
	add_word(&environment, "LD_PRELOAD=" TH_LIBRARY);
	add_word(&environment, output);
	/* The sampler itself is under test; test_rate.c tests the rate control. */
	add_word(&environment, "TWINHEAP_RATE=0");
	add_words(&environment, plan->settings);
	th_command_check(&command, &ret->outcome);
	ret->truth = read_truth(ret->outcome.output);
	free(output);
}

void
th_recording_run_mixed(const struct th_recording_plan *plan, struct th_recording *ret)
{
	struct words arguments = {.count = 0};
	struct th_recording_plan command = *plan;

	add_word(&arguments, plan->jdk->java);
	add_words(&arguments, plan->jvm_options);
	add_word(&arguments, "-Djava.library.path=" MIXED);
	add_word(&arguments, "-jar");
	add_word(&arguments, MIXED "/mixed.jar");
	add_words(&arguments, plan->arguments);
	command.arguments = arguments.list;
	th_recording_run(&command, ret);
}

/* The options select no sample (docs/verbs/commands.md). */
#define STATUS_NOTHING 8

/* The tool's JSON; `options` are appended to its command line.  NULL: they select nothing. */
static json_t *export(const struct th_recording *recording, const char *const *options)
{
	struct words arguments = {.count = 0};
	struct th_outcome outcome;
	json_error_t error;
	json_t *report = NULL;

	add_words(&arguments, TH_WORDS(TH_TOOL, "export", recording->log, "--format", "json"));
	add_words(&arguments, options);
	th_command_run(&(struct th_command){.arguments = arguments.list}, &outcome);
	if (outcome.status != STATUS_NOTHING) {
		report = json_loads(outcome.output, 0, &error);
		if (!report || outcome.status)
			fail_msg("export of %s, status %d, line %d: %s%s", recording->log,
				outcome.status, error.line, error.text, outcome.errors);
	}
	th_outcome_deinit(&outcome);
	return report;
}

void
th_recording_load(struct th_recording *recording)
{
	th_recording_load_with(recording, NULL);
}

void
th_recording_load_with(struct th_recording *recording, const char *const *options)
{
	recording->report = export(recording, options);
}

void
th_recording_deinit(struct th_recording *recording)
{
	json_decref(recording->report);
	json_decref(recording->truth);
	th_outcome_deinit(&recording->outcome);
	free(recording->log);
	memset(recording, 0, sizeof(*recording));
}

static struct th_log_header
read_header(const struct th_recording *recording)
{
	struct th_log_header header;
	FILE *file = fopen(recording->log, "rb");

	assert_non_null(file);
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	fclose(file);
	return header;
}

double
th_recording_start(const struct th_recording *recording)
{
	return (double)read_header(recording).start_monotonic;
}

double
th_recording_end(const struct th_recording *recording)
{
	return (double)read_header(recording).control.looked;
}

struct th_figure
th_figure_read(const json_t *object, const char *name)
{
	const json_t *entry = json_object_get(object, name);
	const json_t *interval = json_object_get(entry, "ci95");

	if (!json_is_number(json_object_get(entry, "estimate")) ||
		json_array_size(interval) != 2)
		fail_msg("the report has no figure %s where one should be", name);
	return (struct th_figure){
		.estimate = json_number_value(json_object_get(entry, "estimate")),
		.low = json_number_value(json_array_get(interval, 0)),
		.high = json_number_value(json_array_get(interval, 1)),
		.samples = json_number_value(json_object_get(entry, "samples")),
		.exact = json_is_true(json_object_get(entry, "exact")),
	};
}

struct th_figure
th_recording_total(const struct th_recording *recording, const char *heap, const char *value)
{
	const json_t *totals = json_object_get(recording->report, "totals");

	return th_figure_read(json_object_get(totals, heap), value);
}

/* An extended regular expression that matches only this name; to be freed. */
static char *
pattern_of(const char *name)
{
	char *pattern = th_format("^%*s$", 2 * (int)strlen(name), "");
	char *to = pattern + 1;

	for (; *name; name++) {
		if (strchr(".[]{}()*+?^$|\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	strcpy(to, "$");
	return pattern;
}

struct th_figure
th_recording_site_at(const struct th_recording *recording, const char *heap, const char *name,
	const char *value, const char *at)
{
	char *pattern = pattern_of(name);
	json_t *report = export(
		recording, TH_WORDS("--heaps", heap, "--include", pattern, "--at", at));
	const json_t *totals = json_object_get(report, "totals");
	struct th_figure nothing = {.high = HUGE_VAL};
	struct th_figure figure = report ? th_figure_read(json_object_get(totals, heap), value)
					 : nothing;

	json_decref(report);
	free(pattern);
	return figure;
}

struct th_figure
th_recording_site(const struct th_recording *recording, const char *heap, const char *name,
	const char *value)
{
	return th_recording_site_at(recording, heap, name, value, "end");
}

/* A counter, from the output of `dump`. */
static double
counter_in(const struct th_recording *recording, const char *dump, const char *name)
{
	char *label = th_format(" counter \"%s\" = ", name);
	const char *found = strstr(dump, label);
	double value;

	if (!found)
		fail_msg("%s has no counter %s", recording->log, name);
	value = strtod(found + strlen(label), NULL);
	free(label);
	return value;
}

double
th_recording_counter(const struct th_recording *recording, const char *name)
{
	char *text = th_command_output(TH_WORDS(TH_TOOL, "dump", recording->log));
	double value = counter_in(recording, text, name);

	free(text);
	return value;
}

void
th_recording_check_sum(const struct th_recording *recording)
{
	static const char *const outcomes[] = {"native_samples", "java_samples",
		"mapped_samples", "dropped_log_full", "dropped_stacks_full",
		"dropped_no_scratch", "dropped_reentered", "dropped_stopped",
		"dropped_no_space", "dropped_log_unreachable", "dropped_busy"};
	char *text = th_command_output(TH_WORDS(TH_TOOL, "dump", recording->log));
	double sum = 0;

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		sum += counter_in(recording, text, outcomes[i]);
	assert_true(sum > 0);
	if (counter_in(recording, text, "samples_due") != sum)
		fail_msg("%s: %.0f samples were due, but %.0f came to something",
			recording->log, counter_in(recording, text, "samples_due"), sum);
	free(text);
}

static bool
is_string(const json_t *object, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(object, key));

	return !wanted || (text && strcmp(text, wanted) == 0);
}

bool
th_stack_has_path(const json_t *stack, const char *const *path)
{
	const json_t *frames = json_object_get(stack, "frames");

	for (size_t i = 0; i < json_array_size(frames) && *path; i++) {
		if (is_string(json_array_get(frames, i), "name", *path))
			path++;
	}
	return !*path;
}

static bool
is_wanted(const json_t *stack, const struct th_stack_filter *filter)
{
	return is_string(stack, "heap", filter->heap) &&
	       is_string(stack, "class", filter->class_name) &&
	       is_string(stack, "thread", filter->thread) &&
	       (!filter->frame || th_stack_has_path(stack, TH_WORDS(filter->frame))) &&
	       (!filter->path || th_stack_has_path(stack, filter->path));
}

struct th_figure
th_recording_sum(const struct th_recording *recording, const struct th_stack_filter *filter,
	const char *value)
{
	const json_t *stacks = json_object_get(recording->report, "stacks");
	struct th_figure sum = {.exact = false};
	double below = 0;
	double above = 0;

	assert_true(json_is_array(stacks));
	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);
		struct th_figure figure;

		if (!is_wanted(stack, filter))
			continue;
		figure = th_figure_read(stack, value);
		sum.estimate += figure.estimate;
		sum.samples += figure.samples;
		below += pow(figure.estimate - figure.low, 2);
		above += pow(figure.high - figure.estimate, 2);
	}
	if (sum.samples == 0) {
		const json_t *sampling = json_object_get(recording->report, "sampling");
		json_t *interval = json_object_get(sampling, "interval_bytes");

		sum.high = EMPTY_BOUND * json_number_value(interval);
		return sum;
	}
	sum.low = sum.estimate - sqrt(below);
	sum.high = sum.estimate + sqrt(above);
	return sum;
}

/*
 * Live bytes are cut at the bytes in use, with the upper limit, and may then be close to the lower
 * one: its distance is that of so many samples of small blocks.
 */
static double
lower_limit(const struct th_figure *figure)
{
	if (figure->estimate < figure->high || figure->exact || figure->samples <= 0)
		return fmax(figure->low, 0);
	return fmax(
		fmin(figure->low, figure->estimate * (1 - 1.96 / sqrt(figure->samples))), 0);
}

bool
th_figure_covers(const struct th_figure *figure, double truth, double factor)
{
	double root = sqrt(figure->estimate);
	double low = root - factor * (root - sqrt(lower_limit(figure)));
	double high = root + factor * (sqrt(figure->high) - root);
	double slack = FORGIVEN * truth;

	return truth >= pow(fmax(low, 0), 2) - slack && truth <= pow(high, 2) + slack;
}

void
th_assert_covers(const struct th_figure *figure, double truth, const char *what)
{
	if (!th_figure_covers(figure, truth, TH_WIDENED))
		fail_msg("%s: %.0f in truth, reported %.0f [%.0f, %.0f] from %.0f samples",
			what, truth, figure->estimate, figure->low, figure->high,
			figure->samples);
}

/* The key of the truth that corresponds to a value of the report. */
static const char *
truth_key(const char *value)
{
	return strncmp(value, "alloc_", strlen("alloc_")) == 0 ? value + strlen("alloc_")
							       : value;
}

/* Compares one site with the report; false if the truth is outside the interval. */
static bool
check_site(const struct th_recording *recording, const json_t *site, const char *value)
{
	const char *path[WORDS_MAX] = {NULL};
	const json_t *frames = json_object_get(site, "path");
	const char *name = json_string_value(json_object_get(site, "site"));
	double truth = json_number_value(json_object_get(site, truth_key(value)));
	struct th_stack_filter filter = {
		.heap = json_string_value(json_object_get(site, "heap")),
		.class_name = json_string_value(json_object_get(site, "class")),
		.frame = name,
	};
	struct th_figure figure;

	for (size_t i = 0; i < json_array_size(frames) && i + 1 < WORDS_MAX; i++)
		path[i] = json_string_value(json_array_get(frames, i));
	if (path[0])
		filter.path = path;
	figure = th_recording_sum(recording, &filter, value);
	print_message("%-36s %s %14.0f: %14.0f [%.0f, %.0f] %.0f samples\n", name, value, truth,
		figure.estimate, figure.low, figure.high, figure.samples);
	th_assert_covers(&figure, truth, name);
	return th_figure_covers(&figure, truth, 1);
}

/*
 * The smallest number of `count` 95 % intervals that contain the truth, except with probability
 * COVERAGE_RISK.
 */
static size_t
fewest_inside(size_t count)
{
	double term = pow(0.05, (double)count); /* the binomial probability of k inside */
	double sum = term;
	size_t k = 0;

	while (sum < COVERAGE_RISK && k < count) {
		term *= (double)(count - k) / (double)(k + 1) * (0.95 / 0.05);
		sum += term;
		k++;
	}
	return k;
}

void
th_recording_check_sites(
	const struct th_recording *recording, const char *heap, const char *value)
{
	size_t checked = 0;
	size_t inside = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);

		/* Live figures are not known for every site. */
		if (!is_string(site, "heap", heap) ||
			!json_is_number(json_object_get(site, truth_key(value))))
			continue;
		checked++;
		inside += check_site(recording, site, value);
	}
	assert_true(checked > 0);
	if (inside < fewest_inside(checked))
		fail_msg("only %zu of %zu sites in their 95 %% interval", inside, checked);
}
