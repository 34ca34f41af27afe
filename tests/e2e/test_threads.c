/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renamed threads: their allocations are reported under the name at the time, in both heaps,
 * even if names are similar.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define RENAMES TH_TEST_BUILD "/tests/programs/native_renames"
#define ENDS TH_TEST_BUILD "/tests/programs/native_thread_ends"
#define STARTED "5000"
/* Of so many the library knows the stacks. */
#define KNOWN 4096
#define TASKS 16
#define TASK_BYTES ((double)(4 << 20))

/* Sixteen names share 15 bytes, the length that the kernel keeps. */
static void
check_tasks(const struct th_recording *recording, const char *heap)
{
	for (int i = 0; i < TASKS; i++) {
		char *name = th_format("Executor task launch worker for task %d", i);
		struct th_figure figure = th_recording_sum(recording,
			&(struct th_stack_filter){.heap = heap, .thread = name}, "alloc_bytes");

		th_assert_covers(&figure, TASK_BYTES, name);
		free(name);
	}
}

/* A filter selects what was allocated under the name, not everything of the thread. */
static void
check_filter(struct th_recording *recording)
{
	struct th_figure task;

	json_decref(recording->report);
	th_recording_load_with(recording, TH_WORDS("--thread", "task 7$"));
	task = th_recording_sum(
		recording, &(struct th_stack_filter){.heap = "java"}, "alloc_bytes");
	th_assert_covers(&task, TASK_BYTES, "--thread 'task 7$'");
}

static void
preloaded(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-cp", JAR, "Renames"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_RATE=0"),
		},
		&recording);
	th_recording_load(&recording);
	check_tasks(&recording, "java");
	check_tasks(&recording, "native");
	check_filter(&recording);
	th_recording_deinit(&recording);
}

/* Renames are not reported in this mode, but each Java sample reads the name. */
static void
as_an_agent(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(
				jdk->java, "-agentpath:" TH_LIBRARY, "-cp", JAR, "Renames"),
			.settings = TH_WORDS(
				"TWINHEAP_INTERVAL=64k", "TWINHEAP_RATE=0", "LD_PRELOAD"),
		},
		&recording);
	th_recording_load(&recording);
	check_tasks(&recording, "java");
	check_filter(&recording);
	th_recording_deinit(&recording);
}

/* With -Xcheck:jni nothing is printed, and the kernel has the same name as without the library. */
static void
as_without_us(const struct th_jdk *jdk)
{
	static const char *const preloads[] = {"LD_PRELOAD", "LD_PRELOAD=" TH_LIBRARY};
	char *outputs[2];

	for (size_t i = 0; i < 2; i++)
		outputs[i] = NULL;
	for (size_t i = 0; i < 2; i++) {
		struct th_outcome outcome;

		th_command_check(
			&(struct th_command){
				.arguments = TH_WORDS(jdk->java, "-Xcheck:jni", "-cp", JAR,
					"Renames", "show"),
				.environment = TH_WORDS(preloads[i]),
				.directory = th_temporary_directory(),
			},
			&outcome);
		outputs[i] = strdup(outcome.output);
		assert_string_equal(outcome.errors, "");
		th_outcome_deinit(&outcome);
	}
	assert_string_equal(outputs[0], outputs[1]);
	free(outputs[0]);
	free(outputs[1]);
}

/* Two names in turn, for a few milliseconds each, and one that is set by another thread. */
static void
native(const struct th_jdk *jdk)
{
	static const char *const names[] = {"odd", "even", "by another"};
	struct th_recording recording;

	(void)jdk;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(RENAMES),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=0"),
		},
		&recording);
	th_recording_load(&recording);
	for (size_t i = 0; i < 3; i++) {
		struct th_figure blocks = th_recording_sum(&recording,
			&(struct th_stack_filter){
				.heap = "native", .thread = names[i], .frame = "site"},
			"alloc_objects");

		assert_true(blocks.estimate == 1000);
	}
	th_recording_deinit(&recording);
}

/* The last figure of threads in the log. */
static double
last_tally(const char *log, const char *field)
{
	char *dump = th_command_output(TH_WORDS(TH_TOOL, "dump", log));
	const char *last = NULL;

	for (const char *at = dump; (at = strstr(at, " tally ")) != NULL; at++)
		last = at;
	assert_non_null(last);
	last = strstr(last, field);
	assert_non_null(last);
	double number = strtod(last + strlen(field), NULL);
	free(dump);
	return number;
}

/*
 * Threads that were joined or detached are not kept, however they end; the others are, also
 * beyond the bound of those whose stacks are named.
 */
static void
ends(const struct th_jdk *jdk)
{
	static const char *const kinds[] = {NULL, "unjoined"};

	(void)jdk;
	for (size_t i = 0; i < 2; i++) {
		struct th_recording recording;

		th_recording_run(
			&(struct th_recording_plan){
				.arguments = TH_WORDS(ENDS, STARTED, kinds[i]),
				.settings = TH_WORDS("TWINHEAP_SEED=1"),
			},
			&recording);
		double made = last_tally(recording.log, " made=");
		double kept = i ? made : 0;
		assert_true(made > KNOWN);
		assert_true(last_tally(recording.log, " alive=") == kept);
		assert_true(last_tally(recording.log, " parts=") == kept);
		th_recording_deinit(&recording);
	}
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"preloaded", preloaded, 0},
		{"as an agent", as_an_agent, 0},
		{"as without us", as_without_us, 0},
		{"native", native, 25},
		{"ends", ends, 25},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("threads", tests);
}
