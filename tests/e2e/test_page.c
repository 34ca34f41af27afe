/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph page in a real Chromium: each switch shows the numbers of the report. page.py
 * has a case for each test, with the steps in the browser.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/corpus.h"

#define SCRIPT TH_TEST_SOURCE "/tests/e2e/page.py"

/* A recording, and the tool's outputs for it. */
struct made {
	struct th_recording recording;
	const char *heaps;
	char *page;
	char *report;
};

static struct made mixed;
/* What its cases print; the first of them runs all in one browser. */
static char *said_of_all;

/* Writes the outputs for a recording; `heaps` are those of --heaps. */
static void
write_outputs(const char *heaps, struct made *made)
{
	const char *log = made->recording.log;

	made->heaps = heaps;
	made->page = th_format("%s/page.html", made->recording.directory);
	made->report = th_format("%s/report.json", made->recording.directory);
	free(th_command_output(
		TH_WORDS(TH_TOOL, "flamegraph", log, "--heaps", heaps, "-o", made->page)));
	free(th_command_output(TH_WORDS(TH_TOOL, "export", "--format", "json", "--heaps", heaps,
		"-o", made->report, log)));
}

static void
make(const char *const *settings, struct made *made)
{
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = th_jdk_newest(),
			.arguments = TH_WORDS("--volume", "64m"),
			.settings = settings,
		},
		&made->recording);
	write_outputs("all", made);
}

static void
unmake(struct made *made)
{
	free(made->page);
	free(made->report);
	th_recording_deinit(&made->recording);
}

static int
record(void **state)
{
	(void)state;
	make(TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=7"), &mixed);
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	free(said_of_all);
	unmake(&mixed);
	return 0;
}

/* Skips the test without a browser. */
static void
need_browser(void)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS("python3", SCRIPT, "--check")},
		&outcome);
	int status = outcome.status;
	th_outcome_deinit(&outcome);
	if (status) {
		print_message("chromium or chromedriver is missing\n");
		skip();
	}
}

/* Runs cases, separated by commas; what they print, to be freed. */
static char *
run_cases_of(const struct made *made, const char *names)
{
	struct th_outcome outcome;

	need_browser();
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("python3", SCRIPT, names, made->page,
				made->report, TH_TOOL, made->recording.log, "--heaps",
				made->heaps),
		},
		&outcome);
	if (outcome.status)
		print_error("%s%s", outcome.output, outcome.errors);
	char *said = th_format("\n%s", outcome.output);
	th_outcome_deinit(&outcome);
	return said;
}

static void
expect_case(const char *said, const char *name)
{
	char *start = th_format("\n%s: ", name);
	const char *found = strstr(said, start);

	assert_non_null(found);
	print_message("%.*s\n", (int)strcspn(found + 1, "\n"), found + 1);
	free(start);
}

static void
run_case_of(const struct made *made, const char *name)
{
	char *said = run_cases_of(made, name);

	expect_case(said, name);
	free(said);
}

/* A case with the recording of a program of tests/leaks. */
static void
run_case_of_program(
	const char *program, const char *variant, const char *heaps, const char *name)
{
	struct made made;

	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = th_jdk_newest(),
			.program = program,
			.variant = variant,
			.settings = TH_WORDS("TWINHEAP_INTERVAL=16k", "TWINHEAP_SEED=7"),
			.seconds = 6,
		},
		&made.recording);
	write_outputs(heaps, &made);
	run_case_of(&made, name);
	unmake(&made);
}

static void
test_leak_of_threads(void **state)
{
	(void)state;
	run_case_of_program("thread-growth", "leak", "all", "counted");
}

static void
test_no_leak(void **state)
{
	(void)state;
	run_case_of_program("jni-blocks", "clean", "native", "none");
}

/* Without a GC nothing is known about the Java heap. */
static void
test_inconclusive(void **state)
{
	(void)state;
	run_case_of_program("jni-blocks", "clean", "all", "inconclusive");
}

/* The first seconds of the recording as the older snapshot. */
static void
test_comparison(void **state)
{
	struct made compared = mixed;
	char *old_side = th_format("%s@2s", mixed.recording.log);

	(void)state;
	compared.page = th_format("%s/compared.html", mixed.recording.directory);
	compared.report = th_format("%s/before.json", mixed.recording.directory);
	free(th_command_output(TH_WORDS(
		TH_TOOL, "flamegraph", old_side, mixed.recording.log, "-o", compared.page)));
	free(th_command_output(TH_WORDS(TH_TOOL, "export", "--format", "json", "--at", "2",
		"-o", compared.report, mixed.recording.log)));
	run_case_of(&compared, "compare");
	free(compared.page);
	free(compared.report);
	free(old_side);
}

/* The sources of the program are those of the example. */
static void
test_source(void **state)
{
	const char *sources = TH_TEST_SOURCE "/examples/mixed";
	char *page = th_format("%s/source.html", mixed.recording.directory);

	(void)state;
	need_browser();
	free(th_command_output(TH_WORDS(
		TH_TOOL, "flamegraph", "--source", sources, mixed.recording.log, "-o", page)));
	char *said = th_command_output(TH_WORDS("python3", SCRIPT, "source", page, mixed.report,
		TH_TOOL, mixed.recording.log, "--source", sources));
	print_message("%s", said);
	free(said);
	free(page);
}

/* Two files that match equally well, and one behind a link: neither is shown. */
static void
test_ambiguous_source(void **state)
{
	const char *directory = mixed.recording.directory;
	char *page = th_format("%s/ambiguous.html", directory);
	char *make_files = th_format("cd %s && mkdir twice linked && cp -r " TH_TEST_SOURCE
				     "/examples/mixed twice/a && cp -r twice/a twice/b && "
				     "ln -s ../twice/a linked/a",
		directory);
	const char *const folders[] = {"twice", "linked"};

	(void)state;
	free(th_command_output(TH_WORDS("sh", "-c", make_files)));
	for (size_t i = 0; i < 2; i++) {
		char *sources = th_format("%s/%s", directory, folders[i]);
		free(th_command_output(TH_WORDS(TH_TOOL, "flamegraph", "--source", sources,
			mixed.recording.log, "-o", page)));
		char *found = th_command_output(
			TH_WORDS("grep", "-c", "\"sources\":\\[\\]", page));
		assert_string_equal(found, "1\n");
		free(found);
		free(sources);
	}
	free(make_files);
	free(page);
}

/* From scripts/install-deps. */
static void
test_accessibility(void **state)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	char *script = th_format("%s%s/twinheap/axe-core-4.14.1/axe.min.js",
		cache && cache[0] ? cache : getenv("HOME"), cache && cache[0] ? "" : "/.cache");

	(void)state;
	if (access(script, R_OK)) {
		print_message("%s is missing\n", script);
		free(script);
		skip();
	}
	setenv("AXE", script, 1);
	free(script);
	run_case_of(&mixed, "axe");
}

/* Rate control gives samples different weights, and intervals include the discarded samples. */
static void
test_intervals_of_a_thinned_recording(void **state)
{
	struct made thinned;

	(void)state;
	make(TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_RATE=300"), &thinned);
	run_case_of(&thinned, "intervals");
	unmake(&thinned);
}

#define CASES(X)      \
	X(switches)   \
	X(thread)     \
	X(layout)     \
	X(search)     \
	X(zoom)       \
	X(brush)      \
	X(table)      \
	X(leaks)      \
	X(timeline)   \
	X(histograms) \
	X(fold)       \
	X(sandwich)   \
	X(matches)    \
	X(history)    \
	X(share)      \
	X(widths)     \
	X(contrast)   \
	X(link)       \
	X(theme)      \
	X(card)       \
	X(groups)     \
	X(moment)     \
	X(intervals)

#define ADD_NAME(name) "," #name

static void
run_case(const char *name)
{
	if (!said_of_all)
		said_of_all = run_cases_of(&mixed, &CASES(ADD_NAME)[1]);
	expect_case(said_of_all, name);
}

#define DEFINE_TEST(name)                     \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run_case(#name);              \
	}
CASES(DEFINE_TEST)

#define LIST_TEST(name) cmocka_unit_test(test_##name),

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASES(LIST_TEST) cmocka_unit_test(test_intervals_of_a_thinned_recording),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_ambiguous_source),
		cmocka_unit_test(test_accessibility),
		cmocka_unit_test(test_leak_of_threads),
		cmocka_unit_test(test_no_leak),
		cmocka_unit_test(test_inconclusive),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
