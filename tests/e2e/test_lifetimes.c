/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leak at a line that churns: one block in 100 is never freed, at 1.5 GB/s in a process that uses a
 * twentieth of a processor.  With the default budget, which allows some tens of samples a second, its bytes
 * are estimated correctly; at an interval of 512 KiB it is the first finding.
 */
#include "tests/e2e/harness.h"

#include "tests/e2e/corpus.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define SITE "Lifetimes.make"

static void
check(const struct th_recording *recording)
{
	const json_t *truth = json_array_get(recording->truth, 0);
	struct th_figure allocated = th_recording_site(
		recording, "native", SITE, "alloc_bytes");
	struct th_figure live = th_recording_site(recording, "native", SITE, "live_bytes");

	print_message("allocated %.0f (%.0f samples), live %.0f (%.0f samples)\n",
		allocated.estimate, allocated.samples, live.estimate, live.samples);
	th_assert_covers(&allocated, json_number_value(json_object_get(truth, "allocated")),
		"allocated");
	th_assert_covers(&live, json_number_value(json_object_get(truth, "live")), "live");
}

static void
record(const struct th_jdk *jdk, const char *setting, struct th_recording *recording)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(
				jdk->java, "-Xmx256m", "-cp", JAR, "Lifetimes", "10"),
			/* Not the harness's rate. */
			.settings = TH_WORDS("TWINHEAP_RATE=", setting),
		},
		recording);
	th_recording_check_sum(recording);
	check(recording);
}

static void
is_estimated(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, "TWINHEAP_VERBOSE=0", &recording);
	th_recording_deinit(&recording);
}

static void
is_found(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, "TWINHEAP_INTERVAL=512k", &recording);
	json_t *report = th_corpus_findings(&recording);
	const json_t *first = json_array_get(json_object_get(report, "findings"), 0);
	if (!th_finding_is(first, "leak") || !th_finding_in_heap(first, "native", SITE)) {
		th_findings_print(report, NULL);
		fail_msg("the leak is not the first finding");
	}
	json_decref(report);
	th_recording_deinit(&recording);
}

int
main(void)
{
	static const struct th_jdk_test tests[] = {
		{"bytes of a line that churns", is_estimated, 0},
		{"a leak at a line that churns", is_found, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("lifetimes", tests);
}
