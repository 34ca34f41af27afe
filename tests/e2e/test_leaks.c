/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that leak, and clean twins or other clean programs: `twinheap leaks` must name each
 * leak at its line and must report nothing otherwise.  A selection, one run of each;
 * scripts/leak-corpus runs all of them ten times on every JDK.
 */
#include "tests/e2e/corpus.h"
#include "tests/e2e/harness.h"

#include <string.h>

/*
 * Duration of a program in seconds: some hundred samples of each leak, and several collections.
 */
#define SECONDS 4

/* Each run has its own seed, the same each time the test runs. */
static const char *const settings[] = {"TWINHEAP_SEED=3", NULL};

static void
record(const char *program, const char *variant, const struct th_jdk *jdk,
	struct th_recording *ret)
{
	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = program,
			.variant = variant,
			.settings = settings,
			.seconds = SECONDS,
		},
		ret);
}

/* Fails the test for every false `leak`. */
static void
check_alarms(const struct th_recording *recording, const json_t *report)
{
	const json_t *findings = json_object_get(report, "findings");

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);

		if (!th_finding_is(finding, "leak") || th_finding_is_true(finding, recording))
			continue;
		th_findings_print(report, "leak");
		fail_msg("called a leak what is none");
	}
}

/* The figures of the first finding of verdict leak in `heap` below `frame`; NULL: none. */
static const json_t *
find_leak(const json_t *report, const char *heap, const char *frame)
{
	const json_t *findings = json_object_get(report, "findings");

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *figures = th_finding_in_heap(
			json_array_get(findings, i), heap, frame);

		if (figures)
			return figures;
	}
	return NULL;
}

/* Each leak of the program is found, with its size if that is known. */
static void
check_found(const struct th_recording *recording, const json_t *report)
{
	size_t leaks = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		const json_t *bytes = json_object_get(truth, "live_bytes");
		const char *frame = json_string_value(json_object_get(truth, "frame"));
		const char *heap = json_string_value(json_object_get(truth, "heap"));
		const json_t *finding;
		struct th_figure figure;

		if (!th_finding_is(truth, "leak"))
			continue;
		leaks++;
		finding = find_leak(report, heap, frame);
		if (!finding) {
			th_findings_print(report, NULL);
			fail_msg("no leak found at %s", frame);
		}
		figure = th_figure_read(finding, "live_bytes");
		if (json_is_number(bytes))
			th_assert_covers(&figure, json_number_value(bytes), frame);
	}
	assert_true(leaks > 0);
}

static void
check_leak(const char *program, const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report;

	if (!th_corpus_has(program))
		skip();
	record(program, "leak", jdk, &recording);
	report = th_corpus_findings(&recording);
	check_found(&recording, report);
	check_alarms(&recording, report);
	json_decref(report);
	th_recording_deinit(&recording);
}

static void
check_clean(const char *program, const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report;

	if (!th_corpus_has(program))
		skip();
	record(program, "clean", jdk, &recording);
	report = th_corpus_findings(&recording);
	check_alarms(&recording, report);
	json_decref(report);
	th_recording_deinit(&recording);
}

/* The corpus */

/* Initial state of a test: the program. */
static void
leaking(void **state)
{
	check_leak(*state, th_jdk_newest());
}

/*
 * On an old VM: clean programs must stay clean there, too, with more memory of the VM's own to
 * judge.
 */
static void
clean(void **state)
{
	const struct th_jdk *jdk = th_jdk_find(17);

	check_clean(*state, jdk ? jdk : th_jdk_newest());
}

/* Dead owners */

static bool
has_dead_owner(const json_t *finding, const char *class)
{
	const json_t *owner = json_object_get(finding, "owner");
	const char *its_class = json_string_value(json_object_get(owner, "class"));
	const char *state = json_string_value(json_object_get(owner, "state"));

	return its_class && strcmp(its_class, class) == 0 && strcmp(state, "collected") == 0;
}

/*
 * Streams dropped without close() are collected, but zstd's memory for them is not freed.  A
 * stream is a few dozen bytes, so a small interval is required for owners to be among the
 * samples: at 512 bytes about one in nine is, some thirty of 300.  A young generation of 16 MB
 * is collected every half second, so that nearly all of them are judged.
 */
static void
owners_are_collected(void **state)
{
	const struct th_jdk *jdk = th_jdk_find(17);
	struct th_recording recording;
	const json_t *findings;
	json_t *report;
	size_t found = 0;

	(void)state;
	if (!th_corpus_has("zstd"))
		skip();
	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk ? jdk : th_jdk_newest(),
			.program = "zstd",
			.variant = "leak",
			.jvm_options = TH_WORDS("-XX:+UseSerialGC", "-Xmn16m"),
			.settings = TH_WORDS("TWINHEAP_SEED=3", "TWINHEAP_INTERVAL=512"),
			.seconds = SECONDS,
		},
		&recording);
	report = th_corpus_findings(&recording);
	findings = json_object_get(report, "findings");
	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);

		if (th_finding_is(finding, "leak") &&
			th_stack_has_path(finding, TH_WORDS("leaks.ZstdStreams.compress")))
			found += has_dead_owner(
				finding, "com.github.luben.zstd.ZstdOutputStreamNoFinalizer");
	}
	assert_true(found > 0);
	json_decref(report);
	th_recording_deinit(&recording);
}

/* Every allocation */

/*
 * Nothing is estimated here: of 36,000 blocks of 200 KB, allocated and freed by four threads,
 * the 4,000 leaked ones are found, in one finding, and nothing else.
 */
static void
all_lost_blocks_are_counted(void **state)
{
	struct th_recording recording;
	const json_t *findings;
	struct th_figure objects;
	json_t *report;

	(void)state;
	th_corpus_record_native("threads", NULL, TH_WORDS("TWINHEAP_INTERVAL=0"), &recording);
	report = th_corpus_findings(&recording);
	check_found(&recording, report);
	check_alarms(&recording, report);
	findings = json_object_get(report, "findings");
	objects = th_figure_read(find_leak(report, "native", "lose_block"), "live_objects");
	assert_true(objects.estimate == 4000 && objects.low == 4000 && objects.high == 4000);
	for (size_t i = 0, leaks = 0; i < json_array_size(findings); i++) {
		leaks += th_finding_is(json_array_get(findings, i), "leak");
		assert_true(leaks <= 1);
	}
	json_decref(report);
	th_recording_deinit(&recording);
}

/* A native program without a leak has no finding either. */
static void
a_timeline_has_no_leak(void **state)
{
	struct th_recording recording;
	json_t *report;

	(void)state;
	th_corpus_record_native("timeline", NULL, settings, &recording);
	report = th_corpus_findings(&recording);
	check_alarms(&recording, report);
	json_decref(report);
	th_recording_deinit(&recording);
}

#define LEAKING(program)                                                                 \
	{                                                                                \
		.name = program " leaks", .test_func = leaking, .initial_state = program \
	}
#define CLEAN(program)                                                                    \
	{                                                                                 \
		.name = program " is clean", .test_func = clean, .initial_state = program \
	}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lost_blocks_are_counted),
		cmocka_unit_test(a_timeline_has_no_leak),
		cmocka_unit_test(owners_are_collected),
		LEAKING("jni-blocks"),
		LEAKING("jni-strings"),
		LEAKING("jni-rare"),
		LEAKING("zstd"),
		LEAKING("deflaters"),
		LEAKING("direct-buffers"),
		LEAKING("sqlite-statements"),
		LEAKING("cache"),
		LEAKING("listeners"),
		LEAKING("jna-memory"),
		CLEAN("snappy"),
		CLEAN("arena"),
		CLEAN("deflaters"),
		CLEAN("sqlite-statements"),
		CLEAN("cache-roomy"),
		CLEAN("sessions"),
		CLEAN("shrinking"),
		CLEAN("batches"),
		CLEAN("plateau"),
		CLEAN("garbage"),
		CLEAN("classes"),
		CLEAN("warm-up"),
		CLEAN("jna-memory"),
	};

	return cmocka_run_group_tests_name("leaks", tests, NULL, NULL);
}
