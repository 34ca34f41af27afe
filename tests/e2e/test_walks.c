/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own walk of Java frames gives what the VM does, frame by frame, on every JDK and however the VM
 * runs the code: GetStackTrace for sampled objects, AsyncGetCallTrace inside malloc (tests/walks).
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <string.h>

#define WALKS_LIBRARY TH_TEST_BUILD "/tests/walks/libtwinheap-walks.so"
#define PROGRAMS TH_TEST_BUILD "/tests/programs/programs.jar"
#define WALKED_MIN 1000
#define NATIVE_MIN 20
/* Share of the stacks of objects that the VM walks: of virtual threads, whose frames are in the heap. */
#define ASKED_SHARE 0.2
/* Share of native samples whose walk ends early. */
#define CUT_SHARE 0.05
#define FIRST_WITH_VIRTUAL_THREADS 21
#define FIRST_WITH_COMPACT_HEADERS 25
#define FIRST_WITH_FOREIGN 22

struct walks {
	unsigned long long compared;
	unsigned long long different;
	unsigned long long asked; /* GetStackTrace alone */
	unsigned long long native_compared;
	unsigned long long native_different;
	unsigned long long native_failed;  /* AsyncGetCallTrace gave nothing */
	unsigned long long native_shorter; /* or too few frames */
	unsigned long long cut;
};

static void
read_walks(const char *title, const char *directory, struct walks *ret)
{
	char *path = th_format("%s/walks", directory);
	char *text = th_command_output(TH_WORDS("cat", path));

	if (sscanf(text,
		    "%llu compared, %llu different, %llu asked; native: %llu compared, "
		    "%llu different, %llu failed, %llu shorter, %llu cut",
		    &ret->compared, &ret->different, &ret->asked, &ret->native_compared,
		    &ret->native_different, &ret->native_failed, &ret->native_shorter,
		    &ret->cut) != 8)
		fail_msg("%s: %s", path, text);
	print_message("%s: %.*s\n", title, (int)strcspn(text, "\n"), text);
	if (ret->different || ret->native_different)
		fail_msg("%s: %s", title, text);
	free(path);
	free(text);
}

/* `program`: its class and arguments. */
static void
walk(const struct th_jdk *jdk, const char *const *options, const char *const *program,
	struct walks *ret)
{
	struct th_recording recording;
	const char *arguments[16] = {jdk->java, "-Xmx300m"};
	size_t count = 2;

	while (*options)
		arguments[count++] = *options++;
	arguments[count++] = "-cp";
	arguments[count++] = PROGRAMS;
	while (*program)
		arguments[count++] = *program++;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = arguments,
			.settings = TH_WORDS("LD_PRELOAD=" WALKS_LIBRARY, "WALKS=walks",
				"TWINHEAP_INTERVAL=16k", "TWINHEAP_RATE=0",
				"TWINHEAP_OVERHEAD=0", "TWINHEAP_SEED=1"),
		},
		&recording);
	read_walks(options[-1], recording.directory, ret);
	th_recording_deinit(&recording);
}

static void
walk_mode(const struct th_jdk *jdk, const char *const *options, const char *storm)
{
	double share = jdk->feature < FIRST_WITH_VIRTUAL_THREADS ? 0 : ASKED_SHARE;
	struct walks walks;

	/* A part of what takes a second without an emulator. */
	walk(jdk, options, TH_WORDS("Walks", th_is_emulated() ? "0" : "1", storm), &walks);
	assert_true(walks.compared >= WALKED_MIN);
	assert_true(walks.native_compared >= NATIVE_MIN);
	assert_true((double)walks.asked <= share * (double)(walks.asked + walks.compared));
	assert_true((double)walks.cut <=
		    CUT_SHARE * (double)(walks.native_compared + walks.native_failed));
}

enum { WITH_Z = 3 }; /* release 11 has none on aarch64 */

static void
frames_are_the_same(const struct th_jdk *jdk)
{
	static const char *const modes[][4] = {
		{"-XX:+UseG1GC", NULL},
		{"-XX:+UseSerialGC", "-Xint", NULL},
		{"-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1", NULL},
		[WITH_Z] = {"-XX:+UnlockExperimentalVMOptions", "-XX:-TieredCompilation",
			"-XX:+UseZGC", NULL},
		{"-XX:MaxInlineLevel=30", "-XX:MaxInlineSize=200", NULL},
		{"-XX:ReservedCodeCacheSize=4m", NULL},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (i == WITH_Z && !th_jdk_has_collector(jdk, "-XX:+UseZGC"))
			print_message("skipped: no Z\n");
		else
			walk_mode(jdk, modes[i], NULL);
	}
}

/* A safepoint and a handshake with every thread each millisecond, from 17 on by the VM as well. */
static void
frames_are_the_same_in_a_storm(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {
		"-XX:+UseZGC", "-XX:+UseShenandoahGC", "-XX:+UseG1GC"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		if (!th_jdk_has_collector(jdk, collectors[i])) {
			print_message("skipped: no %s\n", collectors[i]);
			continue;
		}
		walk_mode(jdk,
			TH_WORDS("-XX:+UnlockExperimentalVMOptions",
				"-XX:+UnlockDiagnosticVMOptions",
				"-XX:+IgnoreUnrecognizedVMOptions", "-XX:+SafepointALot",
				"-XX:+HandshakeALot", "-XX:GuaranteedSafepointInterval=1",
				collectors[i]),
			"storm");
	}
}

static void
frames_are_the_same_with_compact_headers(const struct th_jdk *jdk)
{
	walk_mode(jdk,
		TH_WORDS("-XX:+UnlockExperimentalVMOptions", "-XX:+UseCompactObjectHeaders"),
		NULL);
}

/* From native code that Java code has called; AsyncGetCallTrace ends there. */
static void
frames_below_upcalls(const struct th_jdk *jdk)
{
	struct walks walks;

	walk(jdk, TH_WORDS("-XX:+UseG1GC"), TH_WORDS("Foreign", "20000", "upcall"), &walks);
	assert_true(walks.native_compared >= WALKED_MIN);
	assert_int_equal(walks.cut, 0);
	assert_int_equal(walks.asked, 0);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"frames are the same", frames_are_the_same, 11},
		{"frames are the same in a storm", frames_are_the_same_in_a_storm, 11},
		{"frames are the same with compact headers",
			frames_are_the_same_with_compact_headers, FIRST_WITH_COMPACT_HEADERS},
		{"frames below upcalls", frames_below_upcalls, FIRST_WITH_FOREIGN},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("walks", tests);
}
