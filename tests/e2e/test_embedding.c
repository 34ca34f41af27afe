/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which a process gets a VM, other agents in it, and ways to end: the program must
 * behave as without the library, and the report must contain everything that could be recorded.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIXED TH_TEST_BUILD "/examples/mixed"
#define EMBEDDED TH_TEST_BUILD "/examples/embedded"
#define PROGRAMS TH_TEST_BUILD "/tests/programs"
/* struct order and the text of one order, see examples/embedded. */
#define ORDERS "60000"
#define ORDER_BYTES 1016.0
#define TEXT_BYTES 200.0
/* See libslow_load.c. */
#define SLOW_BYTES (1024 * 8192.0)

static const char *const settings[] = {"TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", NULL};

static size_t
count_in(const char *text, const char *part)
{
	size_t found = 0;

	while ((text = strstr(text, part)) != NULL) {
		found++;
		text += strlen(part);
	}
	return found;
}

/* Number of lines that the library wrote to stderr. */
static size_t
count_messages(const struct th_recording *recording)
{
	return count_in(recording->outcome.errors, "twinheap: ");
}

/* Number of VMs in the log: how often the agent was registered. */
static size_t
count_registrations(const struct th_recording *recording)
{
	char *text = th_command_output(TH_WORDS(TH_TOOL, "dump", recording->log));
	size_t found = count_in(text, " jvm time=");

	free(text);
	return found;
}

static bool
is_recorded(const struct th_recording *recording, const char *heap)
{
	const json_t *totals = json_object_get(recording->report, "totals");

	return json_is_object(json_object_get(json_object_get(totals, heap), "alloc_bytes"));
}

static void
record(const struct th_jdk *jdk, const char *const *options, const char *const *arguments,
	const char *const *environment, struct th_recording *ret)
{
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = options,
			.arguments = arguments,
			.settings = environment,
		},
		ret);
	th_recording_load(ret);
}

/* Both heaps of a run of the scenario `path` or another: totals and sites. */
static void
check_both_heaps(const struct th_jdk *jdk, const struct th_recording *recording)
{
	assert_true(th_recording_total(recording, "java", "alloc_bytes").exact);
	assert_true(th_recording_total(recording, "native", "alloc_bytes").exact);
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);
		const char *heap = json_string_value(json_object_get(site, "heap"));
		const char *name = json_string_value(json_object_get(site, "site"));
		struct th_figure figure = th_recording_site(
			recording, heap, name, "alloc_bytes");

		if (jdk->feature >= 17 || strcmp(heap, "native") == 0)
			th_assert_covers(&figure,
				json_number_value(json_object_get(site, "bytes")), name);
	}
}

/* As an agent */

/* Without preload all heaps are recorded too, through import slots. */
static void
agent_alone(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, TH_WORDS("-agentpath:" TH_LIBRARY), TH_WORDS("--volume", "8M", "path"),
		TH_WORDS("TWINHEAP_INTERVAL=64k", "LD_PRELOAD"), &recording);
	assert_int_equal(count_messages(&recording), 0);
	assert_int_equal(count_registrations(&recording), 1);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	assert_true(th_recording_counter(&recording, "slots") >= 20);
	check_both_heaps(jdk, &recording);
	th_recording_deinit(&recording);
}

/* A library is in the loader's list long before its slots are relocated. */
static void
loaded_slowly(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_figure figure;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-agentpath:" TH_LIBRARY, "-cp",
				PROGRAMS "/programs.jar", "SlowLoad",
				PROGRAMS "/libslow_load.so"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "LD_PRELOAD"),
		},
		&recording);
	figure = th_recording_site(&recording, "native", "slow_load_blocks", "alloc_bytes");
	th_assert_covers(&figure, SLOW_BYTES, "slow_load_blocks");
	th_recording_deinit(&recording);
}

static void
preload_and_agent(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, TH_WORDS("-agentpath:" TH_LIBRARY), TH_WORDS("--volume", "8M", "path"),
		settings, &recording);
	assert_int_equal(count_messages(&recording), 0);
	assert_int_equal(count_registrations(&recording), 1);
	check_both_heaps(jdk, &recording);
	th_recording_deinit(&recording);
}

/*
 * The capability is exclusive: the other agent keeps it, and the library continues without the
 * Java heap.
 */
static void
beside_a_sampling_agent(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_figure figure;

	record(jdk, TH_WORDS("-agentpath:" PROGRAMS "/libholder.so"),
		TH_WORDS("--volume", "16M", "path"), settings, &recording);
	assert_int_equal(count_messages(&recording), 1);
	assert_non_null(strstr(recording.outcome.errors,
		"twinheap: another agent samples the Java heap of this VM"));
	/*
	 * The other agent has received its samples: 16 MB and more, at its interval of 512 KiB.
	 */
	assert_non_null(strstr(recording.outcome.errors, "holder: "));
	assert_null(strstr(recording.outcome.errors, "holder: 0 samples"));
	assert_false(is_recorded(&recording, "java"));
	figure = th_recording_site(&recording, "native", "mixed_path_three", "alloc_bytes");
	th_assert_covers(&figure, 16 << 20, "mixed_path_three");
	/* Native samples have Java frames nevertheless. */
	assert_true(th_recording_sum(&recording,
			    &(struct th_stack_filter){.heap = "native",
				    .path = TH_WORDS("mixed.Path.first", "mixed_path_one",
					    "mixed.Path.third", "mixed_path_three")},
			    "alloc_bytes")
			    .samples >= 0.99 * figure.samples);
	th_recording_deinit(&recording);
}

/* VM checks and JFR */

/* -Xcheck:jni reports nothing that it does not report without the library. */
static void
checked_jni(const struct th_jdk *jdk)
{
	static const char *const arguments[] = {
		"--volume", "4M", "path", "jni", "initializer", "threads", NULL};
	struct th_recording plain;
	struct th_recording recording;

	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = TH_WORDS("-Xcheck:jni"),
			.arguments = arguments,
			.settings = TH_WORDS("LD_PRELOAD"),
		},
		&plain);
	record(jdk, TH_WORDS("-Xcheck:jni"), arguments, settings, &recording);
	assert_int_equal(count_in(recording.outcome.output, "WARNING"),
		count_in(plain.outcome.output, "WARNING"));
	assert_null(strstr(recording.outcome.output, "FATAL ERROR"));
	assert_int_equal(count_messages(&recording), 0);
	th_recording_deinit(&plain);
	th_recording_deinit(&recording);
}

/* JFR takes its own samples and allocates concurrently. */
static void
flight_recorder(const struct th_jdk *jdk)
{
	char *modules = th_command_output(TH_WORDS(jdk->java, "--list-modules"));
	bool is_there = strstr(modules, "jdk.jfr") != NULL;
	struct th_recording recording;
	char *file;

	free(modules);
	if (!is_there)
		skip();
	record(jdk, TH_WORDS("-XX:StartFlightRecording=filename=r.jfr,settings=profile"),
		TH_WORDS("--volume", "16M", "path"), settings, &recording);
	check_both_heaps(jdk, &recording);
	file = th_format("%s/r.jfr", recording.directory);
	assert_int_equal(access(file, R_OK), 0);
	free(file);
	th_recording_deinit(&recording);
}

/* Ways to end */

#define LEAVE_STATUS 7
#define LEAVE_COUNT "4000"

/*
 * Another thread allocates until the end: the log is complete nevertheless, and the exit status
 * unchanged.
 */
static void
check_leaving(const struct th_jdk *jdk, const char *way, int status)
{
	const char *directory = th_temporary_directory();
	struct th_recording recording = {
		.directory = directory, .log = th_format("%s/log.thl", directory)};
	char *output = th_format("TWINHEAP_OUTPUT=%s", recording.log);
	struct th_figure figure;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS(jdk->java, "-cp", PROGRAMS "/programs.jar",
				"Leave", way, LEAVE_COUNT),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, output,
				"TWINHEAP_INTERVAL=64k", "TWINHEAP_RATE=0"),
		},
		&recording.outcome);
	assert_int_equal(recording.outcome.status, status);
	assert_int_equal(count_messages(&recording), 0);
	th_recording_load(&recording);
	assert_true(json_is_true(
		json_object_get(json_object_get(recording.report, "process"), "complete")));
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	figure = th_recording_sum(&recording,
		&(struct th_stack_filter){
			.heap = "java", .thread = "main", .frame = "Leave.block"},
		"alloc_bytes");
	if (jdk->feature >= 17)
		th_assert_covers(&figure, 4000 * 4112.0, way);
	assert_true(figure.samples >= 100);
	free(output);
	th_recording_deinit(&recording);
}

static void
leaving(const struct th_jdk *jdk)
{
	check_leaving(jdk, "exit", LEAVE_STATUS);
	check_leaving(jdk, "halt", LEAVE_STATUS);
	check_leaving(jdk, "hook", LEAVE_STATUS);
	/* main() threw: the other thread is a daemon, so the VM ends with status 1. */
	check_leaving(jdk, "throw", 1);
}

/* A VM inside another program */

/* A C program linked with -ljvm; LD_LIBRARY_PATH selects the JDK. */
static void
linked_with_libjvm(const struct th_jdk *jdk)
{
	char *path = th_format("LD_LIBRARY_PATH=%s/lib/server", jdk->home);
	char *program = th_jdk_program(jdk, EMBEDDED "/embedded");
	struct th_recording recording;
	struct th_figure figure;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(program, EMBEDDED "/embedded.jar", ORDERS),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", path),
		},
		&recording);
	th_recording_load(&recording);
	assert_int_equal(atoi(json_string_value(json_object_get(
				 json_object_get(recording.report, "process"), "jvm"))),
		jdk->feature);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	figure = th_recording_site(&recording, "native", "receive_order", "alloc_bytes");
	th_assert_covers(&figure, atoi(ORDERS) * ORDER_BYTES, "receive_order");
	figure = th_recording_site(&recording, "native", "format_order", "alloc_bytes");
	th_assert_covers(&figure, atoi(ORDERS) * TEXT_BYTES, "format_order");
	assert_true(
		th_recording_sum(&recording,
			&(struct th_stack_filter){.heap = "native",
				.path = TH_WORDS("main", "[jvm] jni_CallStaticVoidMethod",
					"exchange.Matcher.match", "exchange.Matcher.describe",
					"describe_order", "format_order")},
			"alloc_bytes")
			.samples == figure.samples);
	th_recording_deinit(&recording);
	free(program);
	free(path);
}

/* Python starts the VM by dlopen() and dlsym(), and makes Java arrays from C. */
static void
in_python(const struct th_jdk *jdk)
{
	static const char script[] = "import sys, jpype\n"
				     "jpype.startJVM(sys.argv[1])\n"
				     "Bytes = jpype.JArray(jpype.JByte)\n"
				     "for i in range(4000):\n"
				     "    block = Bytes(4096 - 16)\n"
				     "text = jpype.JClass('java.lang.StringBuilder')()\n"
				     "for i in range(20000):\n"
				     "    text.append('a piece of text')\n"
				     "print(text.length())\n";
	const char *cache = getenv("XDG_CACHE_HOME");
	char *python = cache && *cache ? th_format("%s/twinheap/venv/bin/python", cache)
				       : th_format("%s/.cache/twinheap/venv/bin/python",
						 getenv("HOME"));
	char *libjvm = th_format("%s/lib/server/libjvm.so", jdk->home);
	struct th_recording recording;
	struct th_figure arrays;

	if (access(python, X_OK) != 0) {
		print_message("no JPype in %s: left out\n", python);
		skip();
	}
	char *where = th_command_output(TH_WORDS(python, "-c",
		"import os, jpype\n"
		"print('PYTHONPATH=' + os.path.dirname(jpype.__path__[0]), end='')"));
	char *program = th_jdk_program(jdk, python);
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(program, "-c", script, libjvm),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", where),
		},
		&recording);
	assert_string_equal(recording.outcome.output, "300000\n");
	th_recording_load(&recording);
	assert_int_equal(count_registrations(&recording), 1);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	arrays = th_recording_sum(&recording,
		&(struct th_stack_filter){
			.heap = "java", .class_name = "byte[]", .frame = "jni_NewByteArray"},
		"alloc_bytes");
	if (jdk->feature >= 17)
		th_assert_covers(&arrays, 4000 * 4096.0, "arrays of Python");
	assert_true(arrays.samples >= 100);
	th_recording_deinit(&recording);
	free(program);
	free(where);
	free(libjvm);
	free(python);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"agent alone", agent_alone, 0},
		{"loaded slowly", loaded_slowly, 0},
		{"preload and agent", preload_and_agent, 0},
		{"beside a sampling agent", beside_a_sampling_agent, 0},
		{"checked JNI", checked_jni, 0},
		{"flight recorder", flight_recorder, 0},
		{"leaving", leaving, 0},
		{"linked with libjvm", linked_with_libjvm, 0},
		{"in Python", in_python, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("embedding", tests);
}
