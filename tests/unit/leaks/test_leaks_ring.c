/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program (ring_program.h) of nine days is written to an unbounded log and to a ring, and its leak is
 * found in both.
 */
#include <inttypes.h>
#include <math.h>

#include "report/leaks/leaks.h"
#include "tests/unit/log/ring_program.h"
#include "unify/base/memory.h"
#include "unify/log/ring.h"

#define DAY_NS (86400 * (uint64_t)1000000000)
#define DAYS 9u
#define MEMORY_BESIDES (1u << 20)

struct verdicts {
	unsigned leaks; /* findings */
	struct th_evidence leak;
};

static void
judge(struct verdicts *verdicts)
{
	char *arguments[] = {"leaks", (char *)(uintptr_t)log_fixture_path(), NULL};
	struct th_options options;
	struct th_recording *recording = ring_load();
	struct th_leaks leaks;

	*verdicts = (struct verdicts){.leaks = 0};
	assert_null(th_options_parse(&options, TH_OPTIONS_OF_LOGS, 2, arguments));
	struct th_profile *profile = th_profile_create(recording, &options, NULL, NULL);
	th_leaks_init(&leaks, profile);
	for (size_t i = 0; i < leaks.findings_count; i++) {
		struct th_finding finding = th_leaks_next(&leaks, leaks.findings[i].group);

		if (finding.evidence.verdict != TH_VERDICT_LEAK)
			continue;
		verdicts->leaks++;
		verdicts->leak = finding.evidence;
	}
	th_leaks_deinit(&leaks);
	th_profile_destroy(profile);
	th_recording_destroy(recording);
	th_options_deinit(&options);
}

static void
run_days(struct verdicts *verdicts, bool is_ring, enum th_heap heap, uint64_t samples,
	uint32_t leaked)
{
	struct ring_program program;

	ring_open(is_ring);
	ring_begin(&program, samples, heap);
	program.step = DAYS * DAY_NS / samples;
	program.leaked = leaked;
	ring_run(&program, samples, NULL);
	judge(verdicts);
	ring_end(&program);
	print_message("%u chunks, %" PRIu64 " bytes of memory\n", th_ring_chunk(),
		th_memory_resident());
	if (is_ring) {
		assert_true(th_ring_chunk() > samples / 33000); /* most was dropped */
		assert_true(th_ring_chunk() >= 100 || samples == SAMPLES);
		/* The table of samples, the buffers, and the few other tables of the test. */
		assert_true(th_memory_resident() <= RING / 10 + MEMORY_BESIDES);
	}
	log_fixture_detach();
}

/* Of an estimate on a scale of roots, on which its distribution is nearly symmetric. */
static void
assert_covers(const struct th_estimate *estimate, double truth, const char *what)
{
	double middle = sqrt(estimate->estimate);
	double width = truth < estimate->estimate ? middle - sqrt(estimate->low)
						  : sqrt(estimate->high) - middle;

	print_message("%s: %.2f (%.2f .. %.2f), in truth %.2f\n", what, estimate->estimate,
		estimate->low, estimate->high, truth);
	/* Twice the 95 % interval, as above. */
	assert_true(fabs(middle - sqrt(truth)) <= 2 * width + 1e-3 * middle);
}

/* In nine days one of STACKS x LEAKED samples is of the leak, and each is one of INTERVAL + 3 bytes. */
static void
check_leaks(bool is_ring, enum th_heap heap, uint64_t samples, uint32_t leaked)
{
	const double bytes = (double)samples / (STACKS * leaked) * (INTERVAL + 3);
	struct verdicts verdicts;

	run_days(&verdicts, is_ring, heap, samples, leaked);
	assert_int_equal(verdicts.leaks, 1);
	assert_covers(
		&verdicts.leak.growth, bytes / (DAYS * 86400), "growth in bytes per second");
	if (heap == TH_HEAP_NATIVE)
		assert_covers(&verdicts.leak.live_bytes, bytes, "live bytes");
}

static void
test_native_leak_of_days(void **state)
{
	(void)state;
	check_leaks(false, TH_HEAP_NATIVE, SAMPLES, LEAKED);
	check_leaks(true, TH_HEAP_NATIVE, SAMPLES, LEAKED);
}

static void
test_java_leak_of_days(void **state)
{
	(void)state;
	check_leaks(false, TH_HEAP_JAVA, SAMPLES, LEAKED);
	check_leaks(true, TH_HEAP_JAVA, SAMPLES, LEAKED);
}

static void
test_leaks_after_a_hundred_chunks(void **state)
{
	(void)state;
	check_leaks(true, TH_HEAP_NATIVE, 2000000, LEAKED_RARELY);
	check_leaks(true, TH_HEAP_JAVA, 3000000, LEAKED_RARELY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_native_leak_of_days, log_fixture_teardown),
		cmocka_unit_test_teardown(test_java_leak_of_days, log_fixture_teardown),
		cmocka_unit_test_teardown(
			test_leaks_after_a_hundred_chunks, log_fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
