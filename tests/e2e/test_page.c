/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of the flame graph in a real Chromium: each switch shows the numbers of the report.
 * What is done in the browser stands in page.py, a case for each test.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>

#define SCRIPT TH_TEST_SOURCE "/tests/e2e/page.py"

static struct th_recording recording;
static char *page;
static char *report;

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
	page = th_format("%s/page.html", recording.directory);
	report = th_format("%s/report.json", recording.directory);
	free(th_command_output(TH_WORDS(TH_TOOL, "flamegraph", recording.log, "-o", page)));
	free(th_command_output(
		TH_WORDS(TH_TOOL, "export", "--format", "json", "-o", report, recording.log)));
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	free(page);
	free(report);
	th_recording_deinit(&recording);
	return 0;
}

static void
run_case(const char *name)
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
	char *said = th_command_output(
		TH_WORDS("python3", SCRIPT, name, page, report, TH_TOOL, recording.log));
	print_message("%s: %s", name, said);
	free(said);
}

#define CASES(X)    \
	X(switches) \
	X(thread)   \
	X(layout)   \
	X(search)   \
	X(zoom)     \
	X(brush)    \
	X(table)    \
	X(leaks)    \
	X(link)     \
	X(theme)    \
	X(card)     \
	X(groups)   \
	X(moment)   \
	X(intervals)

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
	const struct CMUnitTest tests[] = {CASES(LIST_TEST)};

	return cmocka_run_group_tests(tests, record, forget);
}
