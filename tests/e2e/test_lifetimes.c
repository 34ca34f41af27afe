/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leak at a line that churns: one block in 100 is never freed, and samples of the line are thinned
 * out to a small part.  Those of blocks that live for long are all there, and no figure is biased.
 */
#include "tests/e2e/harness.h"

#include "tests/e2e/corpus.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define SITE "Lifetimes.make"
/* Of some 500 that are due; a tenth of them would be kept without regard to their lifetimes. */
#define SURVIVORS 200

static void
check(const struct th_recording *recording)
{
	const json_t *truth = json_array_get(recording->truth, 0);
	struct th_figure allocated = th_recording_site(
		recording, "native", SITE, "alloc_bytes");
	struct th_figure live = th_recording_site(recording, "native", SITE, "live_bytes");
	double due = th_recording_counter(recording, "samples_due");
	double thinned = th_recording_counter(recording, "rate_thinned");

	print_message("allocated %.0f (%.0f samples), live %.0f (%.0f samples), %.0f of %.0f "
		      "thinned out\n",
		allocated.estimate, allocated.samples, live.estimate, live.samples, thinned,
		due);
	assert_true(thinned > 0.5 * due);
	th_assert_covers(&allocated, json_number_value(json_object_get(truth, "allocated")),
		"allocated");
	th_assert_covers(&live, json_number_value(json_object_get(truth, "live")), "live");
	assert_true(live.samples >= SURVIVORS);
}

static void
survivors_are_kept(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(
				jdk->java, "-Xmx256m", "-cp", JAR, "Lifetimes", "10"),
			/* The default budget, instead of the harness's rate. */
			.settings = TH_WORDS("TWINHEAP_RATE="),
		},
		&recording);
	th_recording_check_sum(&recording);
	check(&recording);
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
		{"survivors of a line that churns", survivors_are_kept, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("lifetimes", tests);
}
