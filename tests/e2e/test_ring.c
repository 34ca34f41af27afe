/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log that is a ring of 8 MiB, which turns some times: the size of the file on disk, and the
 * totals, the live bytes and the verdicts on leaks in both heaps of a process that was killed.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/e2e/dump.h"

#define NATIVE TH_TEST_BUILD "/tests/programs/native_ring"
#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define RING_BYTES (8 << 20)
#define INTERVAL 2048
/*
 * Of the bytes of what is dropped, nearly all of an exact total; what the rest of it has, a 60th
 * and what the Java VM allocates for itself, is known from few samples of a small ring.
 */
#define DROPPED_ERROR 0.03

struct ring {
	struct th_outcome outcome;
	struct th_recording recording;
	double dropped; /* bytes, as printed by the program */
	double kept;
};

/* Records a program that kills itself, or exits. */
static void
record(const char *const *arguments, struct ring *ring)
{
	char *output, *setting;

	memset(ring, 0, sizeof(*ring));
	ring->recording.directory = th_temporary_directory();
	ring->recording.log = th_format("%s/log.thl", ring->recording.directory);
	output = th_format("TWINHEAP_OUTPUT=%s", ring->recording.log);
	setting = th_format("TWINHEAP_INTERVAL=%d", INTERVAL);
	th_command_run(
		&(struct th_command){
			.arguments = arguments,
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY,
				"TWINHEAP_LOG_RING=8M", output, setting),
			.directory = ring->recording.directory,
		},
		&ring->outcome);
	assert_false(ring->outcome.timed_out);
	assert_int_equal(
		sscanf(ring->outcome.output, "%lf %lf", &ring->dropped, &ring->kept), 2);
	free(setting);
	free(output);
}

static void
ring_deinit(struct ring *ring)
{
	th_outcome_deinit(&ring->outcome);
	th_recording_deinit(&ring->recording);
}

/* The file is longer, but has no more than the ring's size on disk. */
static void
check_disk(const struct ring *ring)
{
	struct stat status;

	assert_int_equal(stat(ring->recording.log, &status), 0);
	assert_true(status.st_size > 2 * (off_t)RING_BYTES);
	assert_true(status.st_blocks * 512 <= RING_BYTES);
}

static void
check_figures(struct ring *ring, const char *heap, const char *dropped, const char *kept)
{
	struct th_recording *recording = &ring->recording;
	double least = ring->dropped + ring->kept;
	struct th_figure total, allocated, live;

	/* In a killed process the bytes after the last sample are unknown: e^-20 that they are more. */
	if (ring->outcome.signal == SIGKILL)
		least -= 20 * INTERVAL;
	th_recording_load(recording);
	total = th_recording_total(recording, heap, "alloc_bytes");
	assert_true(total.estimate >= least);
	assert_true(total.estimate < 1.2 * (ring->dropped + ring->kept));
	allocated = th_recording_site(recording, heap, dropped, "alloc_bytes");
	assert_true(fabs(allocated.estimate - ring->dropped) < DROPPED_ERROR * ring->dropped);
	live = th_recording_site(recording, heap, kept, "live_bytes");
	th_assert_covers(&live, ring->kept, kept);
	assert_true(th_recording_counter(recording, "ring_thinned") > 1000);
	assert_true(th_recording_counter(recording, "ring_lost") == 0);
}

/* Of the leaks only the site that keeps what it allocates is one. */
static void
check_leak(const struct ring *ring, const char *kept)
{
	char *text = th_command_output(TH_WORDS(TH_TOOL, "leaks", ring->recording.log));

	th_assert_contains(text, "1 leak,");
	th_assert_contains(text, kept);
	free(text);
}

static void
test_native_process_that_is_killed(void **state)
{
	struct ring ring;

	(void)state;
	record(TH_WORDS(NATIVE, "1500000", "kill"), &ring);
	assert_int_equal(ring.outcome.signal, SIGKILL);
	check_disk(&ring);
	check_figures(&ring, "native", "dropped_site", "kept_site");
	check_leak(&ring, "kept_site");
	ring_deinit(&ring);
}

static void
test_native_process_that_exits(void **state)
{
	struct ring ring;

	(void)state;
	record(TH_WORDS(NATIVE, "1500000", "exit"), &ring);
	assert_int_equal(ring.outcome.status, 0);
	check_disk(&ring);
	check_figures(&ring, "native", "dropped_site", "kept_site");
	ring_deinit(&ring);
}

static void
test_java(const struct th_jdk *jdk)
{
	struct ring ring;

	record(TH_WORDS(jdk->java, "-Xmx256m", "-XX:+UseG1GC", "-cp", JAR, "Ring", "800000",
		       "kill", TH_TOOL),
		&ring);
	check_disk(&ring);
	check_figures(&ring, "java", "Ring.dropArray", "Ring.keepArray");
	check_leak(&ring, "Ring.keepArray");
	ring_deinit(&ring);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native_process_that_is_killed),
		cmocka_unit_test(test_native_process_that_exits),
	};
	const struct th_jdk_test jdk_tests[] = {
		{"java process that is killed", test_java, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("native", tests, NULL, NULL);

	return failed + th_jdk_run_tests("java", jdk_tests);
}
