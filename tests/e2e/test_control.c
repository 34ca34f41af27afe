/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval and the control page in real processes: a JVM that changes between idle and
 * full load, and recordings whose settings are changed while they run.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
/* Samples per second; the interval is raised to keep to it, from 512 KiB on. */
#define TARGET 300
#define RATE_INTERVAL (512 << 10)
/*
 * Median duration of a request, minus two starts of the tool: an agent that polled once a
 * second would need half a second.
 */
#define TAKEN_UP_NS 400e6
#define CHANGES 10
/*
 * Minimum interval to which a budget of 1 % raises an interval of 8 KiB; some MiB on an idle
 * machine.
 */
#define RAISED_LEAST (64 << 10)

static int
compare_times(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Prints load and interval of every second; returns the last interval. */
static uint64_t
trace(const char *log)
{
	struct th_dump dump;
	uint64_t interval = 0;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "rate")) {
		interval = th_dump_number(&dump, "interval");
		print_message("  due %6llu, interval %9llu\n",
			(unsigned long long)th_dump_number(&dump, "due"),
			(unsigned long long)interval);
	}
	th_dump_deinit(&dump);
	return interval;
}

static void
idle_and_back(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx300m", "-cp",
				PROGRAMS "/programs.jar", "Surge", "1.5:20", "2.5:0", "2:20"),
			.settings = TH_WORDS("TWINHEAP_RATE=300", "TWINHEAP_SEED=1"),
		},
		&recording);
	th_recording_load(&recording);
	assert_true(trace(recording.log) > RATE_INTERVAL);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").samples >= TARGET);
	th_recording_check_sum(&recording);
	th_recording_check_sites(&recording, "java", "alloc_bytes");
	th_recording_deinit(&recording);
}

/*
 * An interval far too small for the load: within seconds it is raised as far as the budget
 * requires, and the sites are correct nevertheless.
 */
static void
overhead_is_kept(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx300m", "-cp",
				PROGRAMS "/programs.jar", "Surge", "4:0"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=8k", "TWINHEAP_MAX_OVERHEAD=1%",
				"TWINHEAP_SEED=1"),
		},
		&recording);
	assert_true(trace(recording.log) >= RAISED_LEAST);
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	th_recording_check_sites(&recording, "java", "alloc_bytes");
	th_recording_deinit(&recording);
}

/*
 * A script that runs beside a recorded program; $pid and $tool are set.  `ask` prints its
 * duration, and the time the tool needs to start; `more N` waits for N more samples of the Java
 * heap, which the VM's own start does not produce.
 */
#define SCRIPT                                                                       \
	"tool=" TH_TOOL "\n"                                                         \
	"timed() { name=$1; shift; from=$(date +%s%N); \"$@\" >said || exit 1;\n"    \
	"\techo \"{\\\"$name\\\": $(($(date +%s%N) - from))}\"; }\n"                 \
	"ask() { timed took $tool ctl \"$@\"; timed start $tool --version; }\n"      \
	"count() { " PROGRAMS "/log_counters $TWINHEAP_OUTPUT 2>/dev/null |\n"       \
	"\tawk '$1 == \"java_samples\" { count = $2 } END { print count + 0 }'; }\n" \
	"more() { goal=$(($(count) + $1));\n"                                        \
	"\twhile [ $(count) -lt $goal ]; do sleep 0.02; done; }\n"                   \
	"LD_PRELOAD=" TH_LIBRARY " \"$@\" &\n"                                       \
	"pid=$!\n"                                                                   \
	"more 100\n"

static void
run_beside(const char *script, const char *const *command, struct th_recording *ret)
{
	const char *arguments[24] = {"sh", "-c", script, "sh"};
	size_t count = 4;

	for (; *command; command++) {
		assert_true(count + 1 < sizeof(arguments) / sizeof(arguments[0]));
		arguments[count++] = *command;
	}
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = arguments,
			.settings = TH_WORDS(
				"LD_PRELOAD", "TWINHEAP_RATE=300", "TWINHEAP_SEED=1"),
			.timeout_seconds = 600,
		},
		ret);
}

/* The median, in ns, of the measurements that the script printed under a name. */
static double
take_median(struct th_recording *recording, const char *name, size_t expected)
{
	double *times = calloc(expected, sizeof(*times));
	size_t count = 0;

	assert_non_null(times);
	for (size_t i = json_array_size(recording->truth); i-- > 0;) {
		const json_t *took = json_object_get(json_array_get(recording->truth, i), name);

		if (!took)
			continue;
		assert_true(count < expected);
		times[count++] = json_number_value(took);
		json_array_remove(recording->truth, i);
	}
	assert_int_equal(count, expected);
	qsort(times, count, sizeof(*times), compare_times);
	double median = times[count / 2];
	free(times);
	return median;
}

/*
 * Totals and shares stay correct while the interval is raised and lowered ten times.
 * TH_CONTROL_STEP: seconds between two changes; 12 makes a run of two minutes.
 */
static void
interval_is_changed(const struct th_jdk *jdk)
{
	const char *step = getenv("TH_CONTROL_STEP");
	char *phase = th_format("%.1f:4", CHANGES * (step ? atof(step) : 0.5) + 60);
	struct th_recording recording;
	struct th_dump dump;

	run_beside(SCRIPT "for interval in 8M 32k 2M 64k 8M 1M 32k 8M 64k 512k; do\n"
			  "\task $pid interval $interval\n"
			  "\tsleep ${TH_CONTROL_STEP:-0.5}\n"
			  "done\n"
			  "touch enough\n"
			  "wait $pid\n",
		TH_WORDS(
			jdk->java, "-Xmx300m", "-cp", PROGRAMS "/programs.jar", "Surge", phase),
		&recording);
	free(phase);
	double took = take_median(&recording, "took", CHANGES);
	double start = take_median(&recording, "start", CHANGES);
	print_message(
		"  taken up in %.1f ms, start of the tool %.1f ms\n", took / 1e6, start / 1e6);
	assert_true(took < 2 * start + TAKEN_UP_NS);
	th_dump_init(&dump, recording.log);
	for (int i = 0; i < CHANGES; i++) {
		assert_true(th_dump_next(&dump, "control"));
		assert_true(th_dump_has_text(&dump, "name", "interval"));
	}
	assert_int_equal(th_dump_number(&dump, "value"), 512 * 1024);
	assert_false(th_dump_next(&dump, "control"));
	th_dump_deinit(&dump);
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	th_recording_check_sites(&recording, "java", "alloc_bytes");
	th_recording_deinit(&recording);
}

/*
 * The same in C, by a factor of 256 up and down: nine sites of 16 bytes to 4 MiB in turn.
 */
static void
interval_of_a_c_program(void **state)
{
	struct th_recording recording;

	(void)state;
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS("sh", "-c",
				"LD_PRELOAD=" TH_LIBRARY " " PROGRAMS
				"/native_sites 3221225472 & pid=$!\n"
				"for interval in 8M 32k 8M 64k 8M; do\n"
				"\tsleep 0.2\n"
				"\t" TH_TOOL " ctl $pid interval $interval || exit 1\n"
				"done\n"
				"wait $pid\n"),
			.settings = TH_WORDS(
				"LD_PRELOAD", "TWINHEAP_INTERVAL=32k", "TWINHEAP_SEED=1"),
			.timeout_seconds = 600,
		},
		&recording);
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "native", "alloc_bytes").exact);
	th_recording_check_sites(&recording, "native", "alloc_bytes");
	th_recording_deinit(&recording);
}

static double
selected_bytes(const struct th_recording *recording, const char *from, const char *to)
{
	char *text = th_command_output(TH_WORDS(TH_TOOL, "export", "--format", "json", "--from",
		from, "--to", to, recording->log));
	json_t *report = json_loads(text, 0, NULL);
	double bytes;

	assert_non_null(report);
	bytes = th_figure_read(
		json_object_get(json_object_get(report, "totals"), "java"), "alloc_bytes")
			.estimate;
	json_decref(report);
	free(text);
	return bytes;
}

/* A diff of one recording at two of its marks: the difference matches both sides. */
static void
diff_at_marks(const char *log)
{
	char *early = th_format("%s@mark:early", log);
	char *late = th_format("%s@mark:late", log);
	char *none = th_format("%s@mark:none", log);
	struct th_outcome outcome;

	char *text = th_command_output(
		TH_WORDS(TH_TOOL, "diff", "--value", "alloc-bytes", early, late));
	assert_non_null(strstr(text, "Surge.large"));
	free(text);
	th_command_run(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "diff", early, none)},
		&outcome);
	assert_int_equal(outcome.status, 2);
	assert_non_null(strstr(outcome.errors, "has no mark \"none\""));
	th_outcome_deinit(&outcome);
	free(early);
	free(late);
	free(none);
}

/*
 * Marks divide a recording at the times they were set: the allocation rates on both sides of
 * the second differ.
 */
static void
marks_cut(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_outcome outcome;

	run_beside(SCRIPT "ask $pid mark early\n"
			  "more 100\n"
			  "ask $TWINHEAP_OUTPUT mark late\n"
			  "more 100\n"
			  "ask $pid mark end\n"
			  "$tool list | grep -q $TWINHEAP_OUTPUT || exit 1\n"
			  "$tool ctl $pid | grep -q recording || exit 1\n"
			  "more 100\n"
			  "touch enough\n"
			  "wait $pid\n",
		TH_WORDS(jdk->java, "-cp", PROGRAMS "/programs.jar", "Surge", "60:10"),
		&recording);
	th_recording_load(&recording);
	double whole = th_recording_total(&recording, "java", "alloc_bytes").estimate;
	double early = selected_bytes(&recording, "mark:early", "mark:late");
	double late = selected_bytes(&recording, "mark:late", "mark:end");
	print_message("  whole %.0f, of it %.0f and %.0f\n", whole, early, late);
	/*
	 * At least a hundred samples each, more if the machine delayed the script; as many
	 * elsewhere.
	 */
	assert_true(early > 0 && late > 0);
	assert_true(early + late < whole);
	diff_at_marks(recording.log);
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "summary", "--from",
						    "mark:none", recording.log)},
		&outcome);
	assert_int_equal(outcome.status, 2);
	assert_non_null(strstr(outcome.errors, "has no mark \"none\""));
	th_outcome_deinit(&outcome);
	th_recording_deinit(&recording);
}

/*
 * A user without write access to the log cannot submit requests, and an ended recording accepts
 * none.
 */
static void
requests_that_are_refused(const struct th_jdk *jdk)
{
	static const struct {
		const char *words[4];
		const char *answer;
		int status;
	} cases[] = {
		{{"mark", "x"}, "the recording has ended", 3},
		{{"interval", "3G"}, "expected a size up to", 2},
		{{"interval", "many"}, "expected a size up to", 2},
		{{"rate", "-1"}, "expected a number up to", 2},
		{{"mark", ""}, "expected a name", 2},
		{{"dance", "x"}, "no such command", 2},
		{{"mark"}, "mark: expected a name", 2},
	};
	struct th_recording recording;
	struct stat status;
	char *said[2];

	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS(jdk->java, "-version")},
		&recording);
	assert_int_equal(stat(recording.log, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	/*
	 * The duration of an ended recording is constant, and its status uses the past tense.
	 */
	for (int i = 0; i < 2; i++) {
		said[i] = th_command_output(TH_WORDS(TH_TOOL, "ctl", recording.log));
		usleep(200000 * (i == 0));
	}
	assert_string_equal(said[0], said[1]);
	assert_non_null(strstr(said[0], "\nsampled all heaps\n"));
	assert_null(strstr(said[0], "in the last second"));
	assert_non_null(strstr(said[0], "\nnext:  twinheap summary "));
	free(said[0]);
	free(said[1]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct th_outcome outcome;

		th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "ctl",
							    recording.log, cases[i].words[0],
							    cases[i].words[1])},
			&outcome);
		assert_int_equal(outcome.status, cases[i].status);
		assert_non_null(strstr(outcome.errors, cases[i].answer));
		th_outcome_deinit(&outcome);
	}
	th_recording_deinit(&recording);
}

/*
 * An agent without preload records all heaps, and changes them on request.
 */
static void
heaps_of_an_agent_alone(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c",
				"\"$@\" 2>/dev/null & pid=$!\n"
				"until " TH_TOOL
				" ctl $pid >/dev/null 2>&1; do sleep 0.05; done\n"
				"for heaps in java both all mapped; do\n"
				"\t" TH_TOOL " ctl $pid heaps $heaps; echo $heaps $?\n"
				"done\n" TH_TOOL " ctl $pid\n"
				"kill $pid; wait $pid",
				"sh", jdk->java, "-agentpath:" TH_LIBRARY, "-cp",
				PROGRAMS "/programs.jar", "Surge", "100:10"),
			.directory = th_temporary_directory(),
		},
		&outcome);
	assert_non_null(strstr(outcome.output, "java 0\nboth 0\nall 0\nmapped 0\n"));
	assert_non_null(strstr(outcome.output, "\nsamples mapped memory\n"));
	/* The shell reports the signal. */
	assert_null(strstr(outcome.errors, "twinheap: "));
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"idle, 20 GB/s and back", idle_and_back, 0},
		{"the overhead budget is kept", overhead_is_kept, 0},
		{"the interval is changed", interval_is_changed, 0},
		{"marks", marks_cut, 0},
		{"refused requests", requests_that_are_refused, 0},
		{"heaps of an agent alone", heaps_of_an_agent_alone, 0},
		{NULL, NULL, 0},
	};

	const struct CMUnitTest native[] = {
		cmocka_unit_test(interval_of_a_c_program),
	};

	return th_jdk_run_tests("control", tests) +
	       cmocka_run_group_tests_name("control of a C program", native, NULL, NULL);
}
