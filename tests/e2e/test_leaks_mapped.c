/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks inside an allocator that maps its own chunks.  It maps few, each twice as large as the
 * last, so the number of mappings is no evidence, and a good part of the last is not resident:
 * breakdowns of resident memory must distinguish the leak from its twin, and give its size.
 */
#include "tests/e2e/corpus.h"
#include "tests/e2e/harness.h"

#include <math.h>
#include <string.h>

#define PROGRAM "mapped-arena"
/* Long enough for a dozen breakdowns on a busy machine. */
#define SECONDS 5
/* Relative to the growth of the resident set, which includes some memory of the VM. */
#define TOLERANCE 0.15

static json_t *
findings_of(const struct th_jdk *jdk, const char *variant, struct th_recording *ret)
{
	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = PROGRAM,
			.variant = variant,
			.settings = TH_WORDS("TWINHEAP_SEED=3"),
			.seconds = SECONDS,
		},
		ret);
	return th_corpus_findings(ret);
}

/* The program's own figure for its verdict, "leak" or "grew". */
static const json_t *
truth_of(const struct th_recording *recording, const char *verdict)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);

		if (th_finding_is(truth, verdict))
			return truth;
	}
	fail_msg("the program said nothing of \"%s\"", verdict);
	return NULL;
}

/* The only finding of verdict leak. */
static const json_t *
only_leak(const json_t *report)
{
	const json_t *findings = json_object_get(report, "findings");
	const json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);

		if (!th_finding_is(finding, "leak"))
			continue;
		if (found) {
			th_findings_print(report, "leak");
			fail_msg("more than one leak");
		}
		found = finding;
	}
	if (!found) {
		th_findings_print(report, NULL);
		fail_msg("no leak was found");
	}
	return found;
}

static void
a_leak_is_found(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report = findings_of(jdk, "leak", &recording);
	const json_t *finding = only_leak(report);
	const json_t *truth = truth_of(&recording, "leak");
	double grew = json_number_value(json_object_get(truth_of(&recording, "grew"), "bytes"));
	double mapped = json_number_value(json_object_get(finding, "mapped_bytes"));
	struct th_figure live = th_figure_read(finding, "live_bytes");

	assert_true(th_finding_is_true(finding, &recording));
	assert_string_equal(json_string_value(json_object_get(finding, "heap")), "mapped");
	assert_true(json_is_true(json_object_get(finding, "is_resident")));
	print_message("%.0f bytes in memory of %.0f, RSS grew by %.0f\n", live.estimate, mapped,
		grew);
	th_assert_covers(
		&live, json_number_value(json_object_get(truth, "live_bytes")), "arena");
	assert_true(fabs(live.estimate - grew) < TOLERANCE * grew);
	/* Chunks of 1, 2, 4 ... 256 MB hold 313 MiB: the last is hardly used yet. */
	assert_true(mapped > 1.5 * live.estimate);
	json_decref(report);
	th_recording_deinit(&recording);
}

/* The same arena, of which at most 200 pieces are in use at any time. */
static void
what_comes_back_is_no_leak(void **state)
{
	struct th_recording recording;
	json_t *report = findings_of(th_jdk_newest(), "clean", &recording);
	const json_t *findings = json_object_get(report, "findings");

	(void)state;
	for (size_t i = 0; i < json_array_size(findings); i++) {
		if (!th_finding_is(json_array_get(findings, i), "leak"))
			continue;
		th_findings_print(report, "leak");
		fail_msg("called a leak what is none");
	}
	json_decref(report);
	th_recording_deinit(&recording);
}

int
main(void)
{
	static const struct th_jdk_test each[] = {
		{"a leak is found", a_leak_is_found, 0},
		{NULL, NULL, 0},
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_back_is_no_leak),
	};

	return th_jdk_run_tests("leaks in mapped memory", each) +
	       cmocka_run_group_tests_name("leaks in mapped memory", tests, NULL, NULL);
}
