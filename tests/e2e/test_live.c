/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live memory, at the end and at times in between, compared with programs that print the truth:
 * what each site holds at a time of the clock that the log uses.
 */
#include "tests/e2e/corpus.h"
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <string.h>

/*
 * Live memory of the JDK and the VM themselves: measured up to 4 MB of the Java heap, and 0.3
 * MB of C below a method of the corpus (classes, compiled code).
 */
#define OWN_BYTES_MAX (8 << 20)
#define VM_BYTES_MAX (1 << 20)

static const char *const fine[] = {"TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", NULL};

/* Fails the test unless the widened interval contains some value between `least` and `most`. */
static void
assert_between(const struct th_figure *figure, double least, double most, const char *what)
{
	if (figure->estimate < least)
		th_assert_covers(figure, least, what);
	if (figure->estimate > most)
		th_assert_covers(figure, most, what);
}

/*
 * One site at one time.  Unknown bytes must be more than none, unknown objects are not checked.
 * Below a Java method the VM allocates a little for itself.
 */
static void
check_value(const struct th_recording *recording, const json_t *truth, const char *value,
	const char *at)
{
	const char *heap = json_string_value(json_object_get(truth, "heap"));
	const char *frame = json_string_value(json_object_get(truth, "frame"));
	const json_t *known = json_object_get(truth, value);
	double number = json_number_value(known);
	struct th_figure figure = th_recording_site_at(recording, heap, frame, value, at);
	bool has_vm = strcmp(heap, "native") == 0 && strncmp(frame, "leaks.", 6) == 0;

	print_message("%s s, %s %s: %.0f, reported %.0f [%.0f, %.0f], %.0f samples\n", at,
		frame, value, json_is_number(known) ? number : -1, figure.estimate, figure.low,
		figure.high, figure.samples);
	if (json_is_number(known))
		assert_between(&figure, number, number + (has_vm ? VM_BYTES_MAX : 0), frame);
	else
		assert_true(figure.low > VM_BYTES_MAX);
}

static void
check_moment(const struct th_recording *recording, const json_t *truth, double start)
{
	double time = (json_number_value(json_object_get(truth, "time")) - start) * 1e-9;
	char at[32];

	snprintf(at, sizeof(at), "%.9f", time);
	check_value(recording, truth, "live_bytes", at);
	if (json_is_number(json_object_get(truth, "live_objects")))
		check_value(recording, truth, "live_objects", at);
}

/* All times printed by the program; those of one heap, if `heap` is not NULL. */
static void
check_moments(const struct th_recording *recording, const char *wanted)
{
	double start = th_recording_start(recording);
	size_t checked = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);
		const char *heap = json_string_value(json_object_get(truth, "heap"));

		/* Some lines describe the process, not a site. */
		if (!heap || (wanted && strcmp(heap, wanted) != 0))
			continue;
		check_moment(recording, truth, start);
		checked++;
	}
	assert_true(checked > 0);
}

static void
record(const struct th_jdk *jdk, const char *program, struct th_recording *ret)
{
	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = program,
			.variant = "live",
			.settings = fine,
		},
		ret);
}

/* Programs without a VM */

static void
check_native(const char *program, const char *const *arguments, const char *const *settings)
{
	struct th_recording recording;

	th_corpus_record_native(program, arguments, settings, &recording);
	check_moments(&recording, NULL);
	th_recording_deinit(&recording);
}

static void
a_script_of_steps(void **state)
{
	(void)state;
	check_native("timeline", NULL, fine);
}

/* Without sampling there is no interval: live bytes are exact. */
static void
a_script_of_steps_to_the_byte(void **state)
{
	(void)state;
	check_native("timeline", NULL, TH_WORDS("TWINHEAP_INTERVAL=0"));
}

/*
 * The script peaks at 15,000 blocks, and one more that is freed at once; there are 20,000 of
 * those at each of four steps.  The machine may delay some of the frees.
 */
static void
peak_and_short_lives(void **state)
{
	static const double block_bytes = 5000;
	struct th_recording recording;
	struct th_figure peak, temporary;

	(void)state;
	th_corpus_record_native("timeline", NULL, TH_WORDS("TWINHEAP_INTERVAL=0"), &recording);
	peak = th_recording_site_at(&recording, "native", "create_block", "live_bytes", "peak");
	assert_true(
		peak.estimate == 15000 * block_bytes || peak.estimate == 15001 * block_bytes);
	temporary = th_recording_site(&recording, "native", "create_block", "temp_bytes");
	print_message("freed at once: %.0f\n", temporary.estimate);
	assert_true(temporary.estimate <= 4 * 20000 * block_bytes);
	assert_true(temporary.estimate >= (4 * 20000 - 20) * block_bytes);
	th_recording_deinit(&recording);
}

static void
lives_across_threads_and_pauses(void **state)
{
	(void)state;
	check_native("lifetimes", TH_WORDS("log.thl"), fine);
	check_native("lifetimes", TH_WORDS("log.thl"), TH_WORDS("TWINHEAP_INTERVAL=0"));
}

/* Both heaps */

static void
steps_in_both_heaps(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, "timeline", &recording);
	check_moments(&recording, NULL);
	th_recording_deinit(&recording);
}

/* C memory owned by Java objects is freed when their Cleaners have run. */
static void
cleaners(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, "cleaners", &recording);
	check_moments(&recording, NULL);
	th_recording_deinit(&recording);
}

static void
finalizers(const struct th_jdk *jdk)
{
	struct th_recording recording;

	if (!th_corpus_has("zstd-finalizers"))
		skip();
	record(jdk, "zstd-finalizers", &recording);
	check_moments(&recording, NULL);
	th_recording_deinit(&recording);
}

/* 200,000 arrays */

/*
 * 208 MB in 200,000 live objects: a profiler that keeps a thousand of them without weights
 * reports one megabyte.  The total includes them, and little else.
 */
static void
check_arrays(const struct th_jdk *jdk, const char *collector, const char *interval)
{
	struct th_recording recording;
	struct th_figure total;
	double truth;

	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = "arrays",
			.variant = "live",
			.jvm_options = TH_WORDS("-XX:+UnlockExperimentalVMOptions", collector),
			.settings = TH_WORDS(interval),
		},
		&recording);
	print_message("%s, %s\n", collector, interval);
	check_moments(&recording, NULL);
	th_recording_load(&recording);
	total = th_recording_total(&recording, "java", "live_bytes");
	truth = json_number_value(
		json_object_get(json_array_get(recording.truth, 0), "live_bytes"));
	assert_between(&total, truth, truth + OWN_BYTES_MAX, "total");
	th_recording_deinit(&recording);
}

static void
arrays(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {
		"-XX:+UseSerialGC", "-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseZGC"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		if (th_jdk_has_collector(jdk, collectors[i]))
			check_arrays(jdk, collectors[i], "TWINHEAP_INTERVAL=512k");
	check_arrays(jdk, "-XX:+UseG1GC", "TWINHEAP_INTERVAL=64k");
}

int
main(void)
{
	const struct CMUnitTest native[] = {
		cmocka_unit_test(a_script_of_steps),
		cmocka_unit_test(a_script_of_steps_to_the_byte),
		cmocka_unit_test(peak_and_short_lives),
		cmocka_unit_test(lives_across_threads_and_pauses),
	};
	const struct th_jdk_test both[] = {
		{"steps in both heaps", steps_in_both_heaps, 0},
		{"cleaners", cleaners, 0},
		{"finalizers", finalizers, 0},
		{"arrays", arrays, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("live, native", native, NULL, NULL);

	return failed + th_jdk_run_tests("live", both);
}
