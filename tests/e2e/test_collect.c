/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full collections on request and at regular intervals, under each collector: old objects that
 * are dead are found, and the log has a collection that judges old objects.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
/* Exit status of the tool. */
#define IMPOSSIBLE 4
/* From this release on the VM waits for the end of critical sections, or collects in spite of them. */
#define FIRST_THAT_WAITS 21
/* Z has generations by option only in this release. */
#define WITH_GENERATIONS_BY_OPTION 21
#define NO_MODE "-Xshare:auto"

static json_int_t
integer(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void
assert_truth(const struct th_recording *recording)
{
	const json_t *truth = json_array_get(recording->truth, 0);

	assert_int_equal(integer(truth, "status"), 0);
	assert_int_equal(integer(truth, "left"), 0);
}

static size_t
requests(const char *log)
{
	struct th_dump dump;
	size_t count = 0;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "control"))
		count += th_dump_has_text(&dump, "name", "gc") &&
			 th_dump_number(&dump, "value") == 1;
	th_dump_deinit(&dump);
	return count;
}

/* Sampled objects that were found dead: the dropped ones are half of what the program keeps. */
static size_t
deaths(const char *log)
{
	struct th_dump dump;

	th_dump_init(&dump, log);
	size_t count = th_dump_count(&dump, "java_death");
	th_dump_deinit(&dump);
	return count;
}

static void
record(const struct th_jdk *jdk, const char *const options[2], const char *tool,
	const char *setting, struct th_recording *recording)
{
	print_message("%s %s\n", options[0], options[1]);
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx256m",
				"-XX:+UnlockExperimentalVMOptions", options[0], options[1],
				"-cp", JAR, "Aged", tool),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=16k", setting),
		},
		recording);
	assert_truth(recording);
}

static void
on_request(const struct th_jdk *jdk, const char *collector, const char *mode)
{
	struct th_recording recording;

	record(jdk, (const char *const[]){collector, mode}, TH_TOOL, NULL, &recording);
	assert_int_equal(requests(recording.log), 1);
	assert_true(deaths(recording.log) > 0);
	th_recording_deinit(&recording);
}

static void
regularly(const struct th_jdk *jdk, const char *collector, const char *mode)
{
	struct th_recording recording;

	record(jdk, (const char *const[]){collector, mode}, NULL, "TWINHEAP_GC_EVERY=1s",
		&recording);
	assert_true(deaths(recording.log) > 0);
	th_recording_deinit(&recording);
}

static void
each_collector(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {"-XX:+UseSerialGC", "-XX:+UseParallelGC",
		"-XX:+UseG1GC", "-XX:+UseShenandoahGC", "-XX:+UseZGC"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		if (!th_jdk_has_collector(jdk, collectors[i])) {
			print_message("skipped: no %s\n", collectors[i]);
			continue;
		}
		on_request(jdk, collectors[i], NO_MODE);
		regularly(jdk, collectors[i], NO_MODE);
	}
	if (jdk->feature == WITH_GENERATIONS_BY_OPTION) {
		on_request(jdk, "-XX:+UseZGC", "-XX:+ZGenerational");
		regularly(jdk, "-XX:+UseZGC", "-XX:+ZGenerational");
	}
}

/*
 * While a thread is in a JNI critical section, Serial skips collections: the request fails, with
 * a note, and the process goes on.
 */
static void
skipped(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;
	bool has_note = false;

	if (jdk->feature >= FIRST_THAT_WAITS) {
		print_message("skipped: this VM waits\n");
		return;
	}
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:+UseSerialGC",
				"-Djava.library.path=" TH_TEST_BUILD "/tests/programs", "-cp",
				JAR, "Aged", TH_TOOL, "critical"),
		},
		&recording);
	assert_int_equal(integer(json_array_get(recording.truth, 0), "status"), IMPOSSIBLE);
	th_dump_init(&dump, recording.log);
	while (th_dump_next(&dump, "note"))
		has_note |= strstr(dump.line, "critical section") != NULL;
	th_dump_deinit(&dump);
	assert_true(has_note);
	assert_int_equal(requests(recording.log), 0);
	th_recording_deinit(&recording);
}

/* No thread can answer; the tool waits a second before it reports that. */
static void
no_vm(void **state)
{
	static const char script[] =
		"LD_PRELOAD=$1 TWINHEAP_OUTPUT=$PWD/log.thl sleep 60 & sleeper=$!\n"
		"until $2 ctl log.thl >/dev/null 2>&1; do sleep 0.01; done\n"
		"$2 ctl $sleeper gc; status=$?\n"
		"kill $sleeper; wait $sleeper 2>/dev/null\n"
		"exit $status\n";
	struct th_outcome outcome;

	(void)state;
	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", script, "sh",
						    TH_LIBRARY, TH_TOOL),
			       .directory = th_temporary_directory()},
		&outcome);
	assert_int_equal(outcome.status, IMPOSSIBLE);
	assert_non_null(strstr(outcome.errors, "has no Java VM"));
	th_outcome_deinit(&outcome);
}

static void
bad_period(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "--gc-every",
						    "0s", "true")},
		&outcome);
	assert_int_equal(outcome.status, 2);
	assert_non_null(strstr(outcome.errors, "--gc-every 0s: out of range"));
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest native[] = {
		cmocka_unit_test(no_vm),
		cmocka_unit_test(bad_period),
	};
	static const struct th_jdk_test tests[] = {
		{"each collector", each_collector, 0},
		{"skipped collections", skipped, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests(native, NULL, NULL);

	return th_jdk_run_tests("collect", tests) + failed;
}
