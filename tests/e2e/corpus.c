/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs of the corpus with the options that the corpus itself lists (leaks.Main
 * --list), and checks that they ran at an even pace.
 */
#include "tests/e2e/corpus.h"

#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS TH_TEST_BUILD "/tests/leaks"
/* Packages of Debian; missing ones have no effect. */
#define JAR(name) "/usr/share/java/" name ".jar"
#define NETTY                                                                            \
	JAR("netty-buffer")                                                              \
	":" JAR("netty-codec") ":" JAR("netty-common") ":" JAR("netty-handler") ":" JAR( \
		"netty-resolver") ":" JAR("netty-tcnative") ":" JAR("netty-transport")
#define JARS                                                                       \
	JAR("jna")                                                                 \
	":" JAR("lz4-java") ":" JAR("snappy-java") ":" JAR("sqlite-jdbc") ":" JAR( \
		"zstd-jni") ":" NETTY
#define CLASS_PATH CORPUS "/leaks.jar:" JARS
#ifdef __aarch64__
#	define MULTIARCH "/usr/lib/aarch64-linux-gnu"
#else
#	define MULTIARCH "/usr/lib/x86_64-linux-gnu"
#endif
/* Debian's jars load their native libraries from here. */
#define LIBRARY_PATH CORPUS ":" MULTIARCH "/jni:" MULTIARCH
#define WORDS_MAX 64
/*
 * Parts of a recording: before the first step, including the start on a busy machine; after the
 * last one; in between; and the excess of a quarter of the steps over a quarter of the time.
 * The rules call it a leak (docs/leaks.md) if it grows in the last four fifths of the time,
 * does not pause for a fifth, and is not half as fast in the last quarter.
 */
#define BEFORE_SHARE_MAX 0.5
#define AFTER_SHARE_MAX 0.15
#define DELAY_SHARE_MAX 0.1
#define SLOWER_SHARE_MAX 0.1
/* Seconds of discarded recordings allowed in one test program. */
#define PATIENCE_S 120

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

/* The options of a program, to be freed; NULL: no such program. */
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

char *
th_corpus_shell_command(const struct th_corpus_plan *plan)
{
	char *options = options_of(plan->program, plan->variant);
	char *command;

	assert_non_null(options);
	command = th_format("%s %s -Djava.library.path=" LIBRARY_PATH " -cp " CLASS_PATH
			    " leaks.Main --seconds %g %s %s",
		plan->jdk->java, options, plan->seconds, plan->program, plan->variant);
	free(options);
	return command;
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
part(const json_t *truth, const char *key, double whole)
{
	return json_number_value(json_object_get(truth, key)) / whole;
}

/*
 * Whether the steps were evenly spaced and covered most of the recording; true if there are
 * none.
 */
static bool
is_even(const struct th_recording *recording)
{
	double start = th_recording_start(recording);
	double whole = th_recording_end(recording) - start;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		double before = part(truth, "from", whole) - start / whole;
		double after = 1 - part(truth, "to", whole) + start / whole;
		double delay = part(truth, "longest_delay", whole);
		double slower = part(truth, "slowest_quarter", whole);

		if (!th_finding_is(truth, "paced"))
			continue;
		print_message("%.1f s, of it %.2f before the steps, %.2f behind them, %.2f "
			      "held up, a quarter %.2f too long\n",
			whole * 1e-9, before, after, delay, slower);
		return before <= BEFORE_SHARE_MAX && after <= AFTER_SHARE_MAX &&
		       delay <= DELAY_SHARE_MAX && slower <= SLOWER_SHARE_MAX;
	}
	return true;
}

/*
 * Whether a recording must be repeated; it is then removed.  Skips the test if repeating takes
 * too long.
 */
static bool
must_repeat(struct th_recording *recording, const char *program)
{
	static double lost; /* seconds spent by this test program */

	if (is_even(recording))
		return false;
	lost += (th_recording_end(recording) - th_recording_start(recording)) * 1e-9;
	th_recording_deinit(recording);
	if (lost > PATIENCE_S) {
		print_message("skipped: the machine is too busy for %s\n", program);
		skip();
	}
	return true;
}

void
th_corpus_record(const struct th_corpus_plan *plan, struct th_recording *ret)
{
	do
		record_once(plan, ret);
	while (must_repeat(ret, plan->program));
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
	do
		th_recording_run(
			&(struct th_recording_plan){
				.arguments = words.list,
				.settings = environment.list,
			},
			ret);
	while (must_repeat(ret, program));
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

/* Whether a stack of a list (of heaps or parts) has the frame; `heap` NULL: in any heap. */
static bool
has_stack(const json_t *stacks, const char *heap, const char *frame)
{
	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);

		if ((!heap || !strcmp(text_of(stack, "heap"), heap)) &&
			th_stack_has_path(stack, TH_WORDS(frame)))
			return true;
	}
	return false;
}

static bool
has_frame(const json_t *finding, const char *heap, const char *frame)
{
	return has_stack(json_object_get(finding, "heaps"), heap, frame) ||
	       has_stack(json_object_get(finding, "parts"), heap, frame);
}

bool
th_finding_is_true(const json_t *finding, const struct th_recording *recording)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);

		if (th_finding_is(truth, "leak") &&
			has_frame(finding, NULL, text_of(truth, "frame")))
			return true;
	}
	return false;
}

const json_t *
th_finding_in_heap(const json_t *finding, const char *heap, const char *frame)
{
	const json_t *heaps = json_object_get(finding, "heaps");

	for (size_t i = 0; i < json_array_size(heaps); i++) {
		const json_t *figures = json_array_get(heaps, i);

		if (!strcmp(text_of(figures, "heap"), heap) && has_frame(finding, heap, frame))
			return figures;
	}
	return NULL;
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
