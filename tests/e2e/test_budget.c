/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The defaults in real processes: what recording takes, by the log's own counters, and the
 * intervals that the budget leads to.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
/*
 * Captures may take 1 % and 50 ms; half as much again for errors of the forecast and the clock of
 * a virtual machine.
 */
#define PART 0.015
#define BURST_NS 75e6
/* Or 2 ms per second, if that is more. */
#define LEAST_PART 0.003
/*
 * The agent thread: its turns, breakdowns and a tenth of a second of them at first.  These are
 * bounds for a machine that is busy with other tests; most of it does not depend on samples.
 */
#define AGENT_PART 0.03
#define AGENT_NS 300e6
/* Wake-ups per second of the agent thread of a VM that does nothing; 2.5 to 4 are usual. */
#define IDLE_MOST 5
/* The first interval. */
#define FIRST (128 << 10)

static void
record(const struct th_jdk *jdk, const char *const *arguments, const char *setting,
	struct th_recording *recording)
{
	(void)jdk;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = arguments,
			.settings = TH_WORDS("TWINHEAP_RATE=", "TWINHEAP_SEED=1", setting),
			.timeout_seconds = 120,
		},
		recording);
	th_recording_load(recording);
}

static double
seconds(const struct th_recording *recording)
{
	return (th_recording_end(recording) - th_recording_start(recording)) / 1e9;
}

static void
check_cost(const struct th_recording *recording)
{
	double process = th_recording_counter(recording, "process_cpu_ns");
	double captures = th_recording_counter(recording, "self_capture_ns");
	double agent = th_recording_counter(recording, "self_agent_ns");
	double elapsed = seconds(recording) * 1e9;

	print_message("  %.1f s of CPU time, captures %.1f ms, agent %.1f ms\n", process / 1e9,
		captures / 1e6, agent / 1e6);
	assert_true(process > 0);
	assert_true(captures <= BURST_NS + PART * process ||
		    captures <= BURST_NS + LEAST_PART * elapsed);
	assert_true(agent <= AGENT_NS + AGENT_PART * elapsed);
}

/* The lowest and the last interval. */
static void
read_intervals(const struct th_recording *recording, uint64_t *least_ret, uint64_t *last_ret)
{
	struct th_dump dump;

	*least_ret = UINT64_MAX;
	th_dump_init(&dump, recording->log);
	while (th_dump_next(&dump, "rate")) {
		*last_ret = th_dump_number(&dump, "interval");
		if (*last_ret < *least_ret)
			*least_ret = *last_ret;
	}
	th_dump_deinit(&dump);
	print_message("  interval %llu at least, %llu at the end\n",
		(unsigned long long)*least_ret, (unsigned long long)*last_ret);
}

/* Gigabytes per second: the interval grows, and sites are correct nevertheless. */
static void
busy_churn(const struct th_jdk *jdk)
{
	struct th_recording recording;
	uint64_t least, last = 0;

	record(jdk,
		TH_WORDS(
			jdk->java, "-Xmx300m", "-cp", PROGRAMS "/programs.jar", "Surge", "6:0"),
		"TWINHEAP_VERBOSE=0", &recording);
	check_cost(&recording);
	read_intervals(&recording, &least, &last);
	assert_true(last >= 4 * FIRST);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	th_recording_check_sum(&recording);
	if (jdk->feature >= 17)
		th_recording_check_sites(&recording, "java", "alloc_bytes");
	th_recording_deinit(&recording);
}

/* 40 MB per second of CPU time: sampled more finely than at the start. */
static void
quiet_program(const struct th_jdk *jdk)
{
	struct th_recording recording;
	uint64_t least, last = 0;

	record(jdk,
		TH_WORDS(jdk->java, "-Xmx300m", "-cp", PROGRAMS "/programs.jar", "Steady", "10",
			"40"),
		"TWINHEAP_VERBOSE=0", &recording);
	check_cost(&recording);
	read_intervals(&recording, &least, &last);
	assert_true(least <= FIRST / 2);
	th_recording_check_sum(&recording);
	th_recording_deinit(&recording);
}

/* A compiler is short, starts many classes and compiles much: the burst is what it pays. */
static void
compiler(const struct th_jdk *jdk)
{
	char *javac = th_format("%s/bin/javac", jdk->home);
	const char *source = TH_TEST_SOURCE "/tests/programs/Surge.java";
	struct th_recording recording;

	if (access(javac, X_OK)) {
		free(javac);
		skip();
	}
	record(jdk, TH_WORDS(javac, "-proc:none", "-d", ".", source), "TWINHEAP_VERBOSE=0",
		&recording);
	check_cost(&recording);
	th_recording_check_sum(&recording);
	th_recording_deinit(&recording);
	free(javac);
}

/*
 * Thousands of collections per second: the log has a hundred of them per second and their exact number
 * and time, and the VM is asked for the use of its heap, which waits for safepoints, ten times a second.
 */
static void
many_collections(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;
	uint64_t pauses = 0, paused = 0;
	size_t written = 0, uses;

	record(jdk,
		TH_WORDS(jdk->java, "-XX:+UseSerialGC", "-Xmx64m", "-Xmn4m", "-cp",
			PROGRAMS "/programs.jar", "Surge", "3:0"),
		"TWINHEAP_VERBOSE=0", &recording);
	check_cost(&recording);
	th_dump_init(&dump, recording.log);
	for (; th_dump_next(&dump, "collection"); written++) {
		pauses = th_dump_number(&dump, "number");
		paused = th_dump_number(&dump, "paused");
	}
	uses = th_dump_count(&dump, "heap_use");
	th_dump_deinit(&dump);
	print_message("  %llu pauses of %.2f s, %zu written, %zu times asked\n",
		(unsigned long long)pauses, (double)paused / 1e9, written, uses);
	assert_true((double)pauses >= 300 * seconds(&recording));
	assert_true(paused / pauses >= 1000 && (double)paused < 1e9 * seconds(&recording));
	assert_true((double)written <= 150 * seconds(&recording) + 256);
	assert_true((double)uses <= 10 * seconds(&recording) + 3 && uses > 0);
	th_recording_deinit(&recording);
}

/* A given interval is the interval, without a cap. */
static void
given_interval(const struct th_jdk *jdk)
{
	struct th_recording recording;
	uint64_t least, last = 0;

	record(jdk,
		TH_WORDS(
			jdk->java, "-Xmx300m", "-cp", PROGRAMS "/programs.jar", "Surge", "2:0"),
		"TWINHEAP_INTERVAL=1M", &recording);
	read_intervals(&recording, &least, &last);
	assert_int_equal(least, 1 << 20);
	assert_int_equal(last, 1 << 20);
	th_recording_deinit(&recording);
}

/*
 * The agent thread of a VM that does nothing sleeps: it wakes up once a second, and at the age of 4 or
 * 8 seconds twice to read the resident size; the first reading of /proc may add some turns.  A count,
 * so a busy machine does not matter.
 */
static void
check_idle_vm(const struct th_jdk *jdk, const char *agent, const char *setting, int seconds)
{
	char *first = th_format("%d", seconds);
	struct th_recording recording;

	record(jdk,
		TH_WORDS(jdk->java, agent, "-Xmx100m", "-cp", PROGRAMS "/programs.jar", "Idle",
			first, "5"),
		setting, &recording);
	free(first);
	const json_t *truth = json_array_get(recording.truth, 0);
	double before = json_number_value(json_object_get(truth, "before"));
	double sleeps = json_number_value(json_object_get(truth, "sleeps"));

	print_message("  %.0f sleeps in %d s, %.0f in 5 s\n", before, seconds, sleeps);
	assert_true(before > 0);
	assert_in_range(sleeps, 5, 5 * IDLE_MOST);
	th_recording_deinit(&recording);
}

static void
idle_vm(const struct th_jdk *jdk)
{
	check_idle_vm(jdk, "-Xshare:auto", "TWINHEAP_VERBOSE=0", 8);
}

/*
 * Not preloaded: the import slots of new objects and those of all are looked at, which does not
 * depend on the VM, so one is enough.
 */
static void
idle_vm_by_slots(void **state)
{
	(void)state;
	check_idle_vm(th_jdk_newest(), "-agentpath:" TH_LIBRARY, "LD_PRELOAD", 4);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"gigabytes per second", busy_churn, 0},
		{"40 MB per second", quiet_program, 0},
		{"a compiler", compiler, 0},
		{"thousands of collections per second", many_collections, 0},
		{"a given interval", given_interval, 0},
		{"an idle VM", idle_vm, 0},
		{NULL, NULL, 0},
	};

	const struct CMUnitTest others[] = {
		cmocka_unit_test(idle_vm_by_slots),
	};

	return th_jdk_run_tests("budget", tests) +
	       cmocka_run_group_tests_name("budget by import slots", others, NULL, NULL);
}
