/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that wait for their Cleaner, counted while the process runs: exactly the unreachable
 * ones before a collection, and none after the Cleaners have run.
 */
#include "tests/e2e/harness.h"

#include <string.h>

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
/* Exit statuses of the tool. */
#define UNREADABLE 3
#define IMPOSSIBLE 4
/* The JDK's own mappings, mostly the file of its modules. */
#define FOREIGN_MAX (1 << 30)

static json_int_t
integer(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/* The tool's output, requested by the program. */
static json_t *
load(const struct th_recording *recording, const char *name)
{
	char *path = th_format("%s/%s", recording->directory, name);
	json_t *json = json_load_file(path, 0, NULL);

	assert_non_null(json);
	free(path);
	return json;
}

static const json_t *
of_kind(const json_t *json, const char *kind)
{
	const json_t *counts = json_object_get(json, "buffers");

	for (size_t i = 0; i < json_array_size(counts); i++) {
		const json_t *count = json_array_get(counts, i);

		if (!strcmp(json_string_value(json_object_get(count, "kind")), kind))
			return count;
	}
	fail_msg("no count of %s buffers", kind);
	return NULL;
}

static void
assert_count(const json_t *json, const char *kind, json_int_t reached, json_int_t waiting,
	json_int_t bytes)
{
	const json_t *count = of_kind(json, kind);

	assert_int_equal(integer(count, "reached"), reached);
	assert_int_equal(integer(count, "reached_bytes"), reached * bytes);
	assert_int_equal(integer(count, "waiting"), waiting);
	assert_int_equal(integer(count, "waiting_bytes"), waiting * bytes);
	assert_true(integer(count, "stopped_ns") > 0);
}

/* The sentence recommends an action. */
static void
assert_verdict(const json_t *json, bool waits)
{
	const json_t *verdict = json_object_get(json, "verdict");
	const char *text = json_string_value(json_object_get(verdict, "text"));

	assert_int_equal(strstr(text, "is unreachable") != NULL, waits);
}

static void
check(const struct th_recording *recording)
{
	const json_t *truth = json_array_get(recording->truth, 0);
	const json_t *after = json_array_get(recording->truth, 1);
	json_int_t bytes = integer(truth, "bytes");
	json_int_t page = integer(truth, "page");
	json_t *json = load(recording, "before.json");
	json_int_t foreign = integer(of_kind(json, "foreign"), "reached_bytes");

	assert_true(foreign >= 0 && foreign < FOREIGN_MAX);
	assert_count(
		json, "direct", integer(truth, "reached"), integer(truth, "waiting"), bytes);
	assert_count(json, "mapped", integer(truth, "mapped"), integer(truth, "mapped_waiting"),
		page);
	assert_verdict(json, true);
	json_decref(json);
	json = load(recording, "after.json");
	assert_count(json, "direct", integer(after, "left"), 0, bytes);
	assert_count(json, "mapped", integer(truth, "mapped"), 0, page);
	assert_int_equal(integer(of_kind(json, "foreign"), "reached_bytes"), foreign);
	assert_verdict(json, false);
	json_decref(json);
}

/* Prevents collections other than the one requested by the program. */
static void
count_with(const struct th_jdk *jdk, const char *collector)
{
	struct th_recording recording;

	print_message("%s\n", collector);
	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS(jdk->java, "-Xmx1g", "-Xms1g",
						    "-XX:+UnlockExperimentalVMOptions",
						    collector, "-cp", JAR, "Counted", TH_TOOL)},
		&recording);
	check(&recording);
	th_recording_deinit(&recording);
}

static void
count_if_there(const struct th_jdk *jdk, const char *collector)
{
	if (th_jdk_has_collector(jdk, collector))
		count_with(jdk, collector);
	else
		print_message("skipped: no %s\n", collector);
}

/*
 * The walk is the VM's own, but each collector has a different heap layout: all of them on the
 * newest JDK, and one on each older, in turn.
 */
static void
counted(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {"-XX:+UseG1GC", "-XX:+UseZGC",
		"-XX:+UseParallelGC", "-XX:+UseSerialGC", "-XX:+UseShenandoahGC"};
	static const size_t count = sizeof(collectors) / sizeof(collectors[0]);
	static size_t turn;

	if (jdk != th_jdk_newest()) {
		count_if_there(jdk, collectors[turn++ % count]);
		return;
	}
	for (size_t i = 0; i < count; i++)
		count_if_there(jdk, collectors[i]);
}

/* Starts a process without a VM, waits for its log, submits the request, and ends it. */
static const char script[] =
	"LD_PRELOAD=$1 TWINHEAP_OUTPUT=$PWD/log.thl sleep 60 & sleeper=$!\n"
	"until $2 ctl log.thl >/dev/null 2>&1; do sleep 0.01; done\n"
	"$2 $3 $4 $5 $6 $sleeper $7; status=$?\n"
	"kill $sleeper; wait $sleeper 2>/dev/null\n"
	"exit $status\n";

static void
ask_sleeper(const char *const *words, struct th_outcome *ret)
{
	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", script, "sh",
						    TH_LIBRARY, TH_TOOL, words[0], words[1],
						    words[2], words[3], words[4]),
			       .directory = th_temporary_directory()},
		ret);
}

/* No thread can answer; the tool waits a second before it reports that. */
static void
no_vm(void **state)
{
	static const char *const requests[][5] = {
		{"rss", "--count-buffers", "--format", "json", ""},
		{"ctl", "", "", "", "buffers"},
	};
	struct th_outcome outcome;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ask_sleeper(requests[i], &outcome);
		assert_int_equal(outcome.status, IMPOSSIBLE);
		assert_non_null(strstr(outcome.errors, "has no Java VM"));
		assert_string_equal(outcome.output, "");
		th_outcome_deinit(&outcome);
	}
}

/* A process that has ended counts nothing; `rss` without the option shows what it wrote. */
static void
ended(void **state)
{
	struct th_recording recording;
	struct th_outcome outcome;

	(void)state;
	th_recording_run(
		&(struct th_recording_plan){.arguments = TH_WORDS("true")}, &recording);
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "rss",
						    "--count-buffers", recording.log)},
		&outcome);
	assert_int_equal(outcome.status, UNREADABLE);
	assert_non_null(strstr(outcome.errors, "the recording has ended"));
	th_outcome_deinit(&outcome);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct CMUnitTest native[] = {
		cmocka_unit_test(no_vm),
		cmocka_unit_test(ended),
	};
	static const struct th_jdk_test tests[] = {
		{"buffers are counted", counted, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests(native, NULL, NULL);

	return th_jdk_run_tests("buffers", tests) + failed;
}
