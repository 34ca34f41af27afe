/* SPDX-License-Identifier: Apache-2.0 */
/* Options of each program come from the corpus itself: leaks.Main --list. */
#include "tests/e2e/corpus.h"

#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CORPUS TH_TEST_BUILD "/tests/leaks"
/* Of Debian; those that are missing do no harm. */
#define JARS                                                            \
	"/usr/share/java/lz4-java.jar:/usr/share/java/snappy-java.jar:" \
	"/usr/share/java/sqlite-jdbc.jar:/usr/share/java/zstd-jni.jar"
#define CLASS_PATH CORPUS "/leaks.jar:" JARS
#ifdef __aarch64__
#	define MULTIARCH "/usr/lib/aarch64-linux-gnu"
#else
#	define MULTIARCH "/usr/lib/x86_64-linux-gnu"
#endif
/* Debian's jars look for their native halves here. */
#define LIBRARY_PATH CORPUS ":" MULTIARCH "/jni:" MULTIARCH
#define WORDS_MAX 64
/*
 * Of a recording: before the first step, as starting takes on a busy machine, behind the last one,
 * and in between.  A leak is one to the rules (docs/leaks.md) if it grows in the last four fifths
 * of the time, and does not pause for a fifth.
 */
#define BEFORE_SHARE_MAX 0.4
#define AFTER_SHARE_MAX 0.1
#define DELAY_SHARE_MAX 0.05
#define ATTEMPTS 10

struct words {
	const char *list[WORDS_MAX];
	size_t count;
};

static void
add(struct words *words, const char *const *more)
{
	for (; more && *more; more++) {
		assert_true(words->count + 1 < WORDS_MAX);
		words->list[words->count++] = *more;
	}
	words->list[words->count] = NULL;
}

/* "PROGRAM VARIANT OPTIONS" lines, read once. */
static const char *
list(void)
{
	static char *text;

	if (!text)
		text = th_command_output(TH_WORDS(
			th_jdk_newest()->java, "-cp", CLASS_PATH, "leaks.Main", "--list"));
	return text;
}

/* The options of a program, in memory to be freed; NULL: there is no such program. */
static char *
options_of(const char *program, const char *variant)
{
	char *start = th_format("%s %s ", program, variant);
	const char *line = list();
	char *options = NULL;

	while (*line && !options) {
		size_t length = strcspn(line, "\n");

		if (strncmp(line, start, strlen(start)) == 0)
			options = strndup(line + strlen(start), length - strlen(start));
		line += length + (line[length] == '\n');
	}
	free(start);
	return options;
}

bool
th_corpus_has(const char *program)
{
	char *start = th_format("%s ", program);
	const char *found = list();
	bool has = false;

	while (!has && (found = strstr(found, start)) != NULL) {
		has = found == list() || found[-1] == '\n';
		found++;
	}
	free(start);
	return has;
}

static void
record_once(const struct th_corpus_plan *plan, struct th_recording *ret)
{
	struct words words = {.count = 0};
	char *options = options_of(plan->program, plan->variant);
	char seconds[32];
	char *rest;

	assert_non_null(options);
	snprintf(seconds, sizeof(seconds), "%g", plan->seconds);
	add(&words, TH_WORDS(plan->jdk->java));
	for (char *word = strtok_r(options, " ", &rest); word;
		word = strtok_r(NULL, " ", &rest))
		add(&words, TH_WORDS(word));
	add(&words, plan->jvm_options);
	add(&words, TH_WORDS("-Djava.library.path=" LIBRARY_PATH, "-cp", CLASS_PATH,
			    "leaks.Main", "--seconds", seconds, plan->program, plan->variant));
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = words.list,
			.settings = plan->settings,
		},
		ret);
	free(options);
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Whether the steps came evenly, and made up most of the recording, which has just ended. */
static bool
is_even(const struct th_recording *recording)
{
	double start = th_recording_start(recording);
	double whole = now() - start;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		double from = json_number_value(json_object_get(truth, "from"));
		double to = json_number_value(json_object_get(truth, "to"));
		double delay = json_number_value(json_object_get(truth, "longest_delay"));

		if (!th_finding_is(truth, "paced"))
			continue;
		print_message("%.1f s, steps from %.2f to %.2f of it, held up for %.2f s\n",
			whole * 1e-9, (from - start) / whole, (to - start) / whole,
			delay * 1e-9);
		return from - start <= BEFORE_SHARE_MAX * whole &&
		       start + whole - to <= AFTER_SHARE_MAX * whole &&
		       delay <= DELAY_SHARE_MAX * whole;
	}
	return true;
}

void
th_corpus_record(const struct th_corpus_plan *plan, struct th_recording *ret)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		record_once(plan, ret);
		if (is_even(ret))
			return;
		th_recording_deinit(ret);
	}
	print_message("skipped: %s never ran evenly on this machine\n", plan->program);
	skip();
}

void
th_corpus_record_native(const char *program, const char *const *arguments,
	const char *const *settings, struct th_recording *ret)
{
	struct words words = {.count = 0};
	struct words environment = {.count = 0};
	char *path = th_format("%s/%s", CORPUS, program);

	add(&words, TH_WORDS(path));
	add(&words, arguments);
	add(&environment, TH_WORDS("TWINHEAP_FOLLOW=all"));
	add(&environment, settings);
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = words.list,
			.settings = environment.list,
		},
		ret);
	free(path);
}

json_t *
th_corpus_findings(const struct th_recording *recording)
{
	json_error_t error;
	char *text = th_command_output(
		TH_WORDS(TH_TOOL, "leaks", recording->log, "--format", "json"));
	json_t *report = json_loads(text, 0, &error);

	if (!report)
		fail_msg("leaks of %s, line %d: %s", recording->log, error.line, error.text);
	if (!json_is_array(json_object_get(report, "findings")))
		fail_msg("leaks of %s: no findings", recording->log);
	free(text);
	return report;
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

bool
th_finding_is(const json_t *finding, const char *verdict)
{
	return strcmp(text_of(finding, "verdict"), verdict) == 0;
}

bool
th_finding_is_true(const json_t *finding, const struct th_recording *recording)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);

		if (th_finding_is(truth, "leak") &&
			th_stack_has_path(finding, TH_WORDS(text_of(truth, "frame"))))
			return true;
	}
	return false;
}

void
th_findings_print(const json_t *findings, const char *verdict)
{
	const json_t *list_of_all = json_object_get(findings, "findings");

	for (size_t i = 0; i < json_array_size(list_of_all); i++) {
		const json_t *finding = json_array_get(list_of_all, i);
		const json_t *frames = json_object_get(finding, "frames");
		size_t count = json_array_size(frames);

		if (verdict && !th_finding_is(finding, verdict))
			continue;
		print_message("%s, %s %s, %.0f bytes: %s\n", text_of(finding, "verdict"),
			text_of(finding, "heap"), text_of(finding, "class"),
			th_figure_read(finding, "live_bytes").estimate,
			text_of(finding, "why"));
		for (size_t k = count > 6 ? count - 6 : 0; k < count; k++)
			print_message("    %s\n", text_of(json_array_get(frames, k), "name"));
	}
}
