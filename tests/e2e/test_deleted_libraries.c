/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions in a library whose file is deleted right after loading, as nearly every JNI
 * library's is, on each JDK and without a VM; also if the process is killed.
 */
#include "tests/e2e/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define LIBRARY PROGRAMS "/libvanishing.so"
/* 40 MB in either function: 625 samples. */
#define COUNT "40000"
#define SETTINGS TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1")
/* Samples of a function that must have its name; all others are those before its table was read. */
#define LEAST_SAMPLES 500

/* Only privileged processes can read a deleted file. */
static bool
has_local_names(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char path[64];

	assert_non_null(maps);
	assert_int_equal(fscanf(maps, "%lx-%lx", &start, &end), 2);
	fclose(maps);
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", start, end);
	return access(path, R_OK) == 0;
}

static double
samples_in(const struct th_recording *recording, const char *frame)
{
	const struct th_stack_filter filter = {.heap = "native", .frame = frame};

	return th_recording_sum(recording, &filter, "alloc_bytes").samples;
}

static void
assert_named(const struct th_recording *recording, const char *caller, bool has_local)
{
	assert_true(samples_in(recording, "vanishing_exported") >= LEAST_SAMPLES);
	assert_true(samples_in(recording, caller) >= 2 * LEAST_SAMPLES);
	if (has_local)
		assert_true(samples_in(recording, "vanishing_local") >= LEAST_SAMPLES);
	else
		assert_int_equal(samples_in(recording, "vanishing_local"), 0);
}

/* Runs Vanishing in a directory of its own, until it ends or kills itself. */
static void
run_java(const struct th_jdk *jdk, const char *library, const char *end,
	struct th_recording *ret)
{
	char *output;

	*ret = (struct th_recording){.directory = th_temporary_directory()};
	ret->log = th_format("%s/log.thl", ret->directory);
	output = th_format("TWINHEAP_OUTPUT=%s", ret->log);
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(jdk->java, "-cp", PROGRAMS "/programs.jar",
				"Vanishing", library, COUNT, end),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, output,
				"TWINHEAP_RATE=0", "TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1"),
			.directory = ret->directory,
		},
		&ret->outcome);
	assert_int_equal(ret->outcome.signal, end ? SIGKILL : 0);
	th_recording_load(ret);
	free(output);
}

/* No view knows the name of the temporary file, and the report prints no warning about it. */
static void
check_bundle(const struct th_recording *recording)
{
	char *bundle = th_format("%s/bundle.thl", recording->directory);
	char *collapsed;
	struct th_outcome outcome;

	th_command_check(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "bundle",
						      recording->log, "-o", bundle)},
		&outcome);
	assert_null(strstr(outcome.errors, "libvanishing"));
	th_outcome_deinit(&outcome);
	collapsed = th_command_output(
		TH_WORDS(TH_TOOL, "export", bundle, "--format", "collapsed"));
	assert_non_null(strstr(collapsed, "vanishing_exported"));
	assert_null(strstr(collapsed, "libvanishing"));
	free(collapsed);
	free(bundle);
}

static void
names_stay(const struct th_jdk *jdk)
{
	struct th_recording recording;

	run_java(jdk, LIBRARY, NULL, &recording);
	assert_named(&recording, "Java_Vanishing_work", has_local_names());
	if (has_local_names())
		check_bundle(&recording);
	th_recording_deinit(&recording);
}

static void
names_survive_kill_9(const struct th_jdk *jdk)
{
	struct th_recording recording;

	run_java(jdk, LIBRARY, "die", &recording);
	assert_named(&recording, "Java_Vanishing_work", has_local_names());
	th_recording_deinit(&recording);
}

static char *
make_stripped(void)
{
	char *path = th_format("%s/stripped.so", th_temporary_directory());

	free(th_command_output(TH_WORDS("strip", "-s", "-o", path, LIBRARY)));
	return path;
}

/*
 * A local function of a stripped library is not given the name of its neighbor, and two runs
 * agree on what it is called instead.
 */
static void
no_name_is_invented(const struct th_jdk *jdk)
{
	char *library = make_stripped();
	struct th_recording first, second;
	char *difference;

	run_java(jdk, library, NULL, &first);
	assert_named(&first, "Java_Vanishing_work", false);
	run_java(jdk, library, NULL, &second);
	difference = th_command_output(TH_WORDS(TH_TOOL, "diff", first.log, second.log,
		"--heap", "native", "--value", "alloc-bytes", "--focus", "libvanishing"));
	assert_non_null(strstr(difference, "libvanishing-*.so+0x"));
	assert_null(strstr(difference, "gone"));
	th_recording_deinit(&first);
	th_recording_deinit(&second);
	free(difference);
	free(library);
}

static void
without_a_vm(void **state)
{
	char *library = th_format("%s/copy.so", th_temporary_directory());
	struct th_recording recording;

	(void)state;
	free(th_command_output(TH_WORDS("cp", LIBRARY, library)));
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(PROGRAMS "/native_vanishing", library, COUNT),
			.settings = SETTINGS},
		&recording);
	th_recording_load(&recording);
	assert_named(&recording, "vanishing_work", has_local_names());
	th_recording_deinit(&recording);
	free(library);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_vm),
	};
	const struct th_jdk_test jdk_tests[] = {
		{"names stay", names_stay, 11},
		{"names survive kill -9", names_survive_kill_9, 11},
		{"no name is invented", no_name_is_invented, 11},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("deleted libraries", tests, NULL, NULL);

	return failed + th_jdk_run_tests("deleted libraries", jdk_tests);
}
