/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java programs that are difficult to observe (tests/programs/Hostile.java), and other users of
 * the VM's interfaces: collectors, agents, options that change how it allocates, and agents
 * loaded late.  Output and exit status of the program must be those without the library.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define LIBRARY PROGRAMS "/libhostile.so"
#define JAR PROGRAMS "/programs.jar"
#define WORDS_MAX 32
/* From this release on the VM warns about System.load() unless it is allowed. */
#define WARNS_OF_LOAD 22
/* From this release on the VM warns about agents loaded late. */
#define WARNS_OF_AGENTS 21

struct command {
	const char *words[WORDS_MAX];
	size_t count;
};

/* Helpers */

static void
add(struct command *command, const char *word)
{
	assert_true(command->count + 1 < WORDS_MAX);
	command->words[command->count++] = word;
}

/* A command line of the launcher; both lists end with NULL. */
static struct command
java(const struct th_jdk *jdk, const char *const *options, const char *const *arguments)
{
	struct command command = {.count = 0};

	add(&command, jdk->java);
	add(&command, "-Xmx256m");
	/* Warnings of the VM contain times. */
	add(&command, "-Xlog:disable");
	if (jdk->feature >= WARNS_OF_LOAD)
		add(&command, "--enable-native-access=ALL-UNNAMED");
	for (; *options; options++)
		add(&command, *options);
	add(&command, "-cp");
	add(&command, JAR);
	for (; *arguments; arguments++)
		add(&command, *arguments);
	return command;
}

/* Runs Hostile in a new directory, recorded to log.thl there, or not recorded. */
static const char *
run(const struct th_jdk *jdk, const char *const *options, const char *moments,
	const char *preload, struct th_outcome *ret)
{
	struct command command = java(jdk, options, TH_WORDS("Hostile", LIBRARY, moments));
	const char *directory = th_temporary_directory();

	th_command_run(
		&(struct th_command){
			.arguments = command.words,
			.environment = TH_WORDS(preload, "TWINHEAP_OUTPUT=log.thl",
				"TWINHEAP_INTERVAL=1k", "TWINHEAP_SEED=1", "TWINHEAP_RATE=0"),
			.directory = directory,
		},
		ret);
	assert_false(ret->timed_out);
	return directory;
}

/*
 * The VM itself may warn on stderr about pages that it does not get; the library must print
 * nothing.
 */
static void
assert_same(const struct th_outcome *recorded, const struct th_outcome *plain)
{
	assert_int_equal(recorded->status, plain->status);
	assert_int_equal(recorded->signal, plain->signal);
	assert_string_equal(recorded->output, plain->output);
	assert_null(strstr(recorded->errors, "twinheap"));
}

/* At most one unfinished record for each thread interrupted by a sudden end. */
static void
check_log(const char *log, bool is_sudden)
{
	struct th_dump dump;

	th_dump_init(&dump, log);
	assert_int_equal(th_dump_damaged(&dump), 0);
	assert_true(th_dump_torn(&dump) <= (is_sudden ? 8 : 0));
	assert_true(is_sudden || th_dump_is_complete(&dump));
	assert_int_equal(th_dump_counter(&dump, "dropped_log_full"), 0);
	th_dump_deinit(&dump);
}

/* Both sites of Hostile, compared with its own output. */
static void
check_sites(const char *output, const char *log)
{
	struct th_recording recording = {.log = (char *)log};

	th_recording_load(&recording);
	for (const char *line = strchr(output, '{'); line; line = strchr(line + 1, '{')) {
		json_t *truth = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
		const char *heap = json_string_value(json_object_get(truth, "heap"));
		const char *site = json_string_value(json_object_get(truth, "site"));
		struct th_figure figure = th_recording_site(
			&recording, heap, site, "alloc_bytes");

		th_assert_covers(
			&figure, json_number_value(json_object_get(truth, "bytes")), site);
		assert_true(figure.samples >= 500);
		json_decref(truth);
	}
	json_decref(recording.report);
}

/* The output of Hostile without the library on a JDK, whatever the options: run once. */
static const struct th_outcome *
plain_outcome(const struct th_jdk *jdk)
{
	static const struct th_jdk *known;
	static struct th_outcome outcome;

	if (known == jdk)
		return &outcome;
	known = jdk;
	th_outcome_deinit(&outcome);
	run(jdk, TH_WORDS("-Xss512k"), "all", "LD_PRELOAD", &outcome);
	assert_int_equal(outcome.status, 0);
	return &outcome;
}

/* With these VM options, Hostile behaves the same with and without the library. */
static void
check_under(const struct th_jdk *jdk, const char *const *options)
{
	struct th_outcome recorded;
	const char *directory = run(jdk, options, "all", "LD_PRELOAD=" TH_LIBRARY, &recorded);
	char *log = th_format("%s/log.thl", directory);

	assert_same(&recorded, plain_outcome(jdk));
	check_log(log, false);
	check_sites(recorded.output, log);
	th_outcome_deinit(&recorded);
	free(log);
}

/* Special situations */

/*
 * Exceptions through JNI, recursion up to StackOverflowError, classes that are loaded, unloaded
 * and redefined, short-lived and attached threads, children; under the default collector.
 */
static void
hostile_moments(const struct th_jdk *jdk)
{
	check_under(jdk, TH_WORDS("-Xss512k"));
}

/* The path of the VM's report of its own crash, or NULL; to be freed. */
static char *
find_crash_report(const char *directory)
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	char *path = NULL;

	assert_non_null(stream);
	while (!path && (entry = readdir(stream))) {
		if (strncmp(entry->d_name, "hs_err_pid", 10) == 0)
			path = th_format("%s/%s", directory, entry->d_name);
	}
	closedir(stream);
	return path;
}

/* The report is complete and names the cause. */
static void
check_crash_report(const char *directory, const char *signal_name)
{
	char *path = find_crash_report(directory);
	char *text;

	assert_non_null(path);
	text = th_command_output(TH_WORDS("cat", path));
	assert_non_null(strstr(text, signal_name));
	assert_non_null(strstr(text, "libhostile.so"));
	assert_non_null(strstr(text, "\nEND."));
	free(text);
	free(path);
}

/* The program ends in the same way, the VM writes its report, and the log is readable. */
static void
check_crash(const struct th_jdk *jdk, const char *way, const char *signal_name)
{
	static const char *const options[] = {"-XX:-CreateCoredumpOnCrash", NULL};
	struct th_outcome plain, recorded;
	const char *directory;
	char *log;

	run(jdk, options, way, "LD_PRELOAD", &plain);
	directory = run(jdk, options, way, "LD_PRELOAD=" TH_LIBRARY, &recorded);
	assert_true(plain.signal == SIGABRT || plain.status == 1);
	assert_int_equal(recorded.signal, plain.signal);
	assert_int_equal(recorded.status, plain.status);
	assert_string_equal(recorded.errors, plain.errors);
	if (signal_name)
		check_crash_report(directory, signal_name);
	log = th_format("%s/log.thl", directory);
	check_log(log, true);
	th_outcome_deinit(&plain);
	th_outcome_deinit(&recorded);
	free(log);
}

static void
crash_in_native_code(const struct th_jdk *jdk)
{
	check_crash(jdk, "crash", "SIGSEGV");
}

/*
 * No Java frame catches a C++ exception: the C++ runtime ends the process, as it does without
 * the library.
 */
static void
exception_that_escapes(const struct th_jdk *jdk)
{
	check_crash(jdk, "escape", NULL);
}

/* VM options */

/*
 * Without TLABs every allocation takes the slow path (not with Serial or Parallel, which up to
 * 19 allocate past the VM's own sampler then); a debugger's agent is active as well.
 */
static void
without_tlabs_beside_a_debugger(const struct th_jdk *jdk)
{
	char *agent = th_format("%s/lib/libjdwp.so", jdk->home);
	bool is_there = access(agent, R_OK) == 0;

	free(agent);
	if (!is_there)
		print_message("no debugger's agent in %s: left out\n", jdk->home);
	check_under(
		jdk, TH_WORDS("-XX:-UseTLAB", "-XX:+UseG1GC",
			     is_there ? "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,"
					"quiet=y,address=127.0.0.1:0"
				      : "-Dno.debugger"));
}

static void
epsilon_with_native_memory_tracking(const struct th_jdk *jdk)
{
	check_under(jdk, TH_WORDS("-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC",
				 "-XX:NativeMemoryTracking=detail"));
}

/* Pages of that size are refused nearly everywhere: the VM continues without them. */
static void
z_refused_large_pages(const struct th_jdk *jdk)
{
	if (!th_jdk_has_collector(jdk, "-XX:+UseZGC"))
		return;
	check_under(jdk, TH_WORDS("-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC",
				 jdk->feature > 11 ? "-XX:+UseLargePages" : "-Dno.pages"));
}

/* -Xcheck:jni checks every call, including ours. */
static void
checked_jni(const struct th_jdk *jdk)
{
	check_under(jdk, TH_WORDS("-Xcheck:jni", "-XX:+UseParallelGC", "-XX:+UseLargePages"));
}

/*
 * Threads that attach and detach leave nothing in the VM: in 19 to 21 it would keep a state of each
 * that points to freed memory (jvmti/threads/attaching.h).  3,600 threads; noise is 10 KiB.
 */
#define LEFT_MAX (256 << 10)

static void
record_threads_that_attach(const struct th_jdk *jdk, const char *moment, const char *heaps,
	struct th_recording *ret)
{
	struct command command = java(jdk,
		TH_WORDS("-Xint", "-XX:+UseSerialGC", "-XX:NativeMemoryTracking=summary"),
		TH_WORDS("Hostile", LIBRARY, moment));

	th_recording_run(&(struct th_recording_plan){.arguments = command.words,
				 .settings = TH_WORDS(heaps)},
		ret);
	double grown = json_number_value(
		json_object_get(json_array_get(ret->truth, 0), "grown"));
	print_message("the VM holds %.0f bytes more\n", grown);
	assert_true(grown < LEFT_MAX);
}

/* Objects of others are sampled all the same. */
static void
threads_that_attach(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_threads_that_attach(jdk, "attach", "TWINHEAP_HEAPS=all", &recording);
	const json_t *truth = json_array_get(recording.truth, 0);
	th_recording_load(&recording);
	struct th_figure figure = th_recording_site(
		&recording, "java", "Hostile.block", "alloc_bytes");
	th_assert_covers(&figure, json_number_value(json_object_get(truth, "bytes")),
		"objects of a thread that attached others");
	th_recording_deinit(&recording);
}

static void
threads_that_attach_beside_a_sampler(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record_threads_that_attach(jdk, "sampled", "TWINHEAP_HEAPS=native", &recording);
	th_recording_deinit(&recording);
}

/* Late agents */

#define LATE_BLOCKS "20000"

static void
attach(const struct th_jdk *jdk, const char *preload, struct th_recording *ret)
{
	const char *const with_agents[] = {"-Djdk.attach.allowAttachSelf=true",
		jdk->feature >= WARNS_OF_AGENTS ? "-XX:+EnableDynamicAgentLoading" : NULL,
		NULL};
	struct command command = java(
		jdk, with_agents, TH_WORDS("LateAttach", TH_LIBRARY, LATE_BLOCKS));

	th_recording_run(&(struct th_recording_plan){.arguments = command.words,
				 .settings = TH_WORDS(
					 "TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1", preload)},
		ret);
	assert_string_equal(ret->outcome.output, "attached\n");
	th_recording_load(ret);
}

/*
 * From then on all heaps are recorded.  What an existing thread allocates up to its first sample,
 * with the VM's draw of 512 KiB on average, has no sample: it reaches a tenth of the total in one
 * case of ten million.
 */
static void
late_agent_alone(const struct th_jdk *jdk)
{
	const double truth = atoi(LATE_BLOCKS) * 4096.0;
	struct th_recording recording;
	struct th_figure figure;

	attach(jdk, "LD_PRELOAD", &recording);
	assert_string_equal(recording.outcome.errors, "");
	figure = th_recording_site(&recording, "java", "LateAttach.block", "alloc_bytes");
	print_message("%.0f of %.0f\n", figure.estimate, truth);
	assert_true(figure.samples >= 500);
	assert_true(figure.estimate > 0.9 * truth && figure.estimate < 1.02 * truth);
	/* The VM and the agent's start allocate the rest. */
	figure = th_recording_total(&recording, "java", "alloc_bytes");
	assert_true(figure.exact);
	assert_true(figure.estimate >= truth && figure.estimate < truth + (4 << 20));
	assert_true(th_recording_counter(&recording, "slots") >= 20);
	th_recording_deinit(&recording);
}

/* The library is loaded already. */
static void
late_agent_beside_preload(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_dump dump;

	attach(jdk, "TWINHEAP_VERBOSE=0", &recording);
	assert_string_equal(recording.outcome.errors, "");
	th_dump_init(&dump, recording.log);
	assert_int_equal(th_dump_count(&dump, "jvm"), 1);
	th_dump_deinit(&dump);
	assert_true(th_recording_site(&recording, "java", "LateAttach.block", "alloc_bytes")
			    .samples >= 500);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"hostile moments", hostile_moments, 0},
		{"crash in native code", crash_in_native_code, 0},
		{"exception that escapes", exception_that_escapes, 0},
		{"without TLABs, beside a debugger", without_tlabs_beside_a_debugger, 0},
		{"Epsilon with native memory tracking", epsilon_with_native_memory_tracking, 0},
		{"Z refused large pages", z_refused_large_pages, 0},
		{"checked JNI", checked_jni, 0},
		{"threads that attach", threads_that_attach, 0},
		{"threads that attach beside a sampler", threads_that_attach_beside_a_sampler,
			0},
		{"late agent alone", late_agent_alone, 0},
		{"late agent beside preload", late_agent_beside_preload, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("company", tests);
}
