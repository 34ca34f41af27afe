/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaks of what is counted by the stack that made it: threads that never end, class loaders that
 * are kept.  `leaks` names the line; the clean twins, which make as many, have no leak.
 */
#include "tests/e2e/corpus.h"
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define SECONDS 4
#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
/* More than twice the number of class loaders that are followed at once, 240 times. */
#define CLASSES "1000000"
/* Tables of the library: 4.9 MB measured on 11 to 25. */
#define TABLES_MAX (8 << 20)
/*
 * Loaders with a captured stack: 4,096, and 500 in each second (tally.h), doubled for seconds in
 * which the level is still rising.
 */
#define CAPTURED_MAX(seconds) (4096 + 2 * 500 * (seconds) + 4096)

static const char *const settings[] = {"TWINHEAP_SEED=3", NULL};

/* The first leak in `heap`; NULL: none. */
static const json_t *
find_leak(const json_t *report, const char *heap)
{
	const json_t *findings = json_object_get(report, "findings");

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);
		const char *its_heap = json_string_value(json_object_get(finding, "heap"));

		if (th_finding_is(finding, "leak") && strcmp(its_heap, heap) == 0)
			return finding;
	}
	return NULL;
}

/* The leak has the line and, as it is counted, the exact number. */
static const json_t *
check_leak(const json_t *report, const char *heap, const char *line, double number)
{
	const json_t *leak = find_leak(report, heap);
	struct th_figure alive;

	if (!leak) {
		th_findings_print(report, NULL);
		fail_msg("no leak of %s", heap);
	}
	alive = th_figure_read(leak, "live_objects");
	print_message("%.0f alive, %.0f bytes: %s\n", alive.estimate,
		th_figure_read(leak, "live_bytes").estimate,
		json_string_value(json_object_get(leak, "why")));
	assert_true(th_stack_has_path(leak, TH_WORDS(line)));
	assert_true(alive.exact);
	assert_true(alive.estimate == number);
	return leak;
}

static json_t *
record(const char *program, const char *variant, const struct th_jdk *jdk,
	struct th_recording *ret)
{
	th_corpus_record(
		&(struct th_corpus_plan){
			.jdk = jdk,
			.program = program,
			.variant = variant,
			.settings = settings,
			.seconds = SECONDS,
		},
		ret);
	return th_corpus_findings(ret);
}

/* 400 threads with stacks of 256 KiB, of which the VM touches some ten pages. */
static void
threads_that_stay(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report = record("thread-growth", "leak", jdk, &recording);
	const json_t *leak = check_leak(report, "threads", "leaks.ThreadGrowth.grow", 400);
	double resident = json_number_value(json_object_get(leak, "resident_bytes"));

	assert_true(
		json_number_value(json_object_get(leak, "reserved_bytes")) == 400.0 * 262144);
	assert_true(resident >= 400.0 * 4096 && resident <= 400.0 * 262144);
	json_decref(report);
	th_recording_deinit(&recording);
}

static void
threads_that_end(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report = record("thread-growth", "clean", jdk, &recording);

	assert_null(find_leak(report, "threads"));
	json_decref(report);
	th_recording_deinit(&recording);
}

/* All that a client or an executor keeps is one leak, of the line that made it. */
static void
one_leak_of_threads(
	const struct th_jdk *jdk, const char *program, const char *frame, double count)
{
	struct th_recording recording;
	json_t *report = record(program, "leak", jdk, &recording);

	check_leak(report, "threads", frame, count);
	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 1);
	json_decref(report);
	th_recording_deinit(&recording);
	report = record(program, "clean", jdk, &recording);
	assert_int_equal(json_integer_value(json_object_get(report, "leaks")), 0);
	json_decref(report);
	th_recording_deinit(&recording);
}

static void
clients_that_stay(const struct th_jdk *jdk)
{
	one_leak_of_threads(jdk, "http-clients", "leaks.HttpClients.connect", 120);
}

static void
executors_that_stay(const struct th_jdk *jdk)
{
	one_leak_of_threads(jdk, "executors", "leaks.Executors.submit", 200);
}

/*
 * The verdict on resident memory agrees with the finding, and what the finding contains is not
 * listed again.
 */
static void
expect_one_row(const struct th_recording *recording)
{
	char *rss = th_command_output(TH_WORDS(TH_TOOL, "rss", recording->log));
	char *leaks = th_command_output(TH_WORDS(TH_TOOL, "leaks", recording->log));

	assert_non_null(strstr(rss, "\n  leak: classes defined at leaks.ClassLoaders"));
	assert_true(
		strstr(rss, "`twinheap leaks` finds ") || strstr(rss, "never unloaded hold "));
	assert_null(strstr(leaks, "native, [JVM-internal] classes"));
	assert_null(strstr(leaks, "mapped, [JVM-internal] class"));
	assert_null(strstr(leaks, "mapped, [JVM-internal] metaspace"));
	free(rss);
	free(leaks);
}

/* A loader with one small class has a chunk in each space of metaspace: 6 KiB (JDK 11 to 25). */
static void
loaders_that_stay(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report = record("class-loaders", "leak", jdk, &recording);
	const json_t *leak = check_leak(report, "classes", "leaks.ClassLoaders.deploy", 800);
	double resident = json_number_value(json_object_get(leak, "resident_bytes"));

	assert_string_equal(json_string_value(json_object_get(leak, "class")),
		"leaks.ClassLoaders$PluginLoader");
	assert_true(resident >= 800.0 * 4096 && resident <= 800.0 * 12288);
	expect_one_row(&recording);
	json_decref(report);
	th_recording_deinit(&recording);
}

static void
loaders_that_go(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report = record("class-loaders", "clean", jdk, &recording);

	assert_null(find_leak(report, "classes"));
	json_decref(report);
	th_recording_deinit(&recording);
}

/* Plain C. */
static void
threads_of_c(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *report;

	(void)jdk;
	th_corpus_record_native("thread_growth", TH_WORDS("leak"), settings, &recording);
	report = th_corpus_findings(&recording);
	check_leak(report, "threads", "grow", 200);
	json_decref(report);
	th_recording_deinit(&recording);
	th_corpus_record_native("thread_growth", TH_WORDS("unjoined"), settings, &recording);
	report = th_corpus_findings(&recording);
	const json_t *leak = check_leak(report, "threads", "grow", 200);
	assert_true(json_number_value(json_object_get(leak, "unjoined_threads")) >= 199);
	/* At least the page of the thread's own data. */
	assert_true(json_number_value(json_object_get(leak, "resident_bytes")) >= 190 * 4096);
	json_decref(report);
	th_recording_deinit(&recording);
	for (int i = 0; i < 2; i++) {
		th_corpus_record_native("thread_growth", TH_WORDS(i ? "detached" : "clean"),
			settings, &recording);
		report = th_corpus_findings(&recording);
		assert_null(find_leak(report, "threads"));
		json_decref(report);
		th_recording_deinit(&recording);
	}
}

/* The highest figure of class loaders in the log: how many had their stack captured. */
static double
count_captured(const struct th_recording *recording)
{
	char *dump = th_command_output(TH_WORDS(TH_TOOL, "dump", recording->log));
	double most = 0;

	for (const char *at = dump; (at = strstr(at, " tally ")) != NULL; at++) {
		const char *made = strstr(at, " made=");
		double number = strtod(made + strlen(" made="), NULL);

		most = number > most ? number : most;
	}
	free(dump);
	return most;
}

/* A million class loaders that come and go: memory, log and captures are bounded. */
static void
a_million_classes(const struct th_jdk *jdk)
{
	struct th_recording recording;
	double seconds;
	json_t *report;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx256m", "-XX:+UseSerialGC", "-cp",
				JAR, "ClassChurn", CLASSES),
			.settings = TH_WORDS("TWINHEAP_SEED=1", "TWINHEAP_HEAPS=java",
				"TWINHEAP_MAX_OVERHEAD=1%"),
			.timeout_seconds = 600,
		},
		&recording);
	report = th_corpus_findings(&recording);
	seconds = (th_recording_end(&recording) - th_recording_start(&recording)) * 1e-9;
	print_message("%.0f s, %.0f captured, tables of %.0f bytes\n", seconds,
		count_captured(&recording),
		th_recording_counter(&recording, "self_memory_bytes"));
	assert_null(find_leak(report, "classes"));
	assert_true(count_captured(&recording) <= CAPTURED_MAX(seconds));
	/* Those of samples, at most, and those that make loaders. */
	assert_true(th_recording_counter(&recording, "stacks_remembered") >
		    th_recording_counter(&recording, "java_samples"));
	assert_true(th_recording_counter(&recording, "self_memory_bytes") <= TABLES_MAX);
	json_decref(report);
	th_recording_deinit(&recording);
}

int
main(void)
{
	int newest = th_jdk_newest()->feature;
	const struct th_jdk_test tests[] = {
		{"threads that stay", threads_that_stay, 0},
		{"threads that end", threads_that_end, 0},
		{"class loaders that stay", loaders_that_stay, 0},
		{"class loaders that go", loaders_that_go, 0},
		{"clients that stay", clients_that_stay, 0},
		{"executors that stay", executors_that_stay, 0},
		{"threads of C", threads_of_c, newest},
		{"a million classes", a_million_classes, newest},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("leaks, counted", tests);
}
