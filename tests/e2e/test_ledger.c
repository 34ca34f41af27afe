/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What native code holds of the VM: the number of references as in the VM's own thread dump, and the
 * ledger of a program that forgets one thing of each kind, of its clean twin, beside others who wrap JNI
 * functions, and switched on and off.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/e2e/dump.h"
#include "unify/shared/log_format.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define TAKES PROGRAMS "/libtakes.so"
#define WRAPS PROGRAMS "/libwraps.so"
#define JAR PROGRAMS "/programs.jar"
#define STEPS "200"
#define WORDS_MAX 24
/* A program that is stopped for long takes nothing meanwhile, which looks like the end of a leak. */
#define ATTEMPTS 8
#define STOPPED_PART 12
/* References that a VM creates by itself while it prints its threads. */
#define OF_VM 20
#define PAIRS_THOUSANDS "300"
#define PAIRS 300000

/* Records Ledger with these arguments; `options` are the VM's. */
static void
record(const struct th_jdk *jdk, const char *const *options, const char *const *arguments,
	const char *ledger, struct th_recording *ret)
{
	const char *words[WORDS_MAX] = {jdk->java, "-Xmx256m"};
	size_t count = 2;
	char *setting = th_format("TWINHEAP_LEDGER=%s", ledger);

	for (; *options; options++)
		words[count++] = *options;
	words[count++] = "-cp";
	words[count++] = JAR;
	words[count++] = "Ledger";
	words[count++] = TAKES;
	for (; *arguments; arguments++)
		words[count++] = *arguments;
	assert_true(count < WORDS_MAX);
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = words,
			.settings = TH_WORDS(setting),
		},
		ret);
	free(setting);
}

/* The output of `ledger` or `leaks` as JSON. */
static json_t *
load(const struct th_recording *recording, const char *command)
{
	char *text = th_command_output(
		TH_WORDS(TH_TOOL, command, "--format", "json", recording->log));
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static json_int_t
number(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static const char *
text(const json_t *json, const char *name)
{
	return json_string_value(json_object_get(json, name));
}

/* Counts */

/* A jcmd, which works with every VM; NULL: none of the JDKs has it. */
static char *
find_jcmd(void)
{
	const struct th_jdk *jdks;
	size_t count = th_jdk_list(&jdks);

	while (count--) {
		char *path = th_format("%s/bin/jcmd", jdks[count].home);
		struct stat status;

		if (!stat(path, &status))
			return path;
		free(path);
	}
	return NULL;
}

/* The last event of the log, which was written at the end. */
static void
read_counts(const char *log, uint64_t *globals_ret, uint64_t *weaks_ret)
{
	struct th_dump dump;

	*globals_ret = *weaks_ret = 0;
	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "jni_references")) {
		*globals_ret = th_dump_number(&dump, "globals");
		*weaks_ret = th_dump_number(&dump, "weaks");
	}
	th_dump_deinit(&dump);
}

static void
assert_about(uint64_t value, uint64_t expected)
{
	assert_in_range(value, expected - OF_VM, expected + OF_VM);
}

static void
counts_of_vm(const struct th_jdk *jdk)
{
	char *jcmd = find_jcmd();
	struct th_recording recording;
	unsigned long globals;
	unsigned long weaks;
	uint64_t logged_globals;
	uint64_t logged_weaks;

	if (!jcmd)
		skip();
	record(jdk, TH_WORDS(NULL),
		TH_WORDS("1", "references,run,run", TH_TOOL, "ctl", "PID", "flush", "--", jcmd,
			"PID", "Thread.print"),
		"0", &recording);
	const char *line = strstr(recording.outcome.output, "JNI global refs: ");
	assert_non_null(line);
	assert_int_equal(
		sscanf(line, "JNI global refs: %lu, weak refs: %lu", &globals, &weaks), 2);
	assert_true(globals >= 1000 && weaks >= 500);
	read_counts(recording.log, &logged_globals, &logged_weaks);
	assert_about(logged_globals, globals);
	/* The library creates weak references of its own, for samples. */
	assert_about(logged_weaks, weaks);
	th_recording_deinit(&recording);
	free(jcmd);
}

/* Entries */

struct expected {
	const char *kind;
	const char *frame;
	const char *class_name; /* NULL: none */
	const char *verdict;    /* the beginning of it */
	bool is_growing;
};

static const struct expected leaking[] = {
	{"global", "Java_Ledger_global", "int[]", "leak", true},
	{"weak", "Java_Ledger_weak", "java.lang.String", "leak", true},
	{"elements", "Java_Ledger_elements", "byte[]", "leak", true},
	{"elements", "Java_Ledger_commit", "int[]", "commit without release", true},
	{"chars", "Java_Ledger_chars", "java.lang.String", "leak", true},
	{"utf", "Java_Ledger_utf", "java.lang.String", "leak", true},
	{"monitor", "Java_Ledger_monitor", "java.lang.Object", "leak", true},
	{"direct-buffer", "Ledger.direct", NULL, "leak", true},
	{"local", "take_local", "java.lang.String", "leak", true},
	{"critical", "Java_Ledger_critical", "byte[]", "critical section of ", false},
	{"string-critical", "Java_Ledger_stringCritical", "java.lang.String",
		"critical section of ", false},
};

#define KINDS (sizeof(leaking) / sizeof(leaking[0]))
#define LEAKS (KINDS - 2)

/* The innermost frame of an entry is the caller of JNI. */
static bool
is_of(const json_t *entry, const char *kind, const char *frame)
{
	const json_t *frames = json_object_get(entry, "frames");
	const json_t *leaf = json_array_get(frames, json_array_size(frames) - 1);

	return !strcmp(text(entry, "kind"), kind) && !strcmp(text(leaf, "name"), frame);
}

static const json_t *
find_entry(const json_t *ledger, const char *kind, const char *frame)
{
	const json_t *entries = json_object_get(ledger, "entries");
	const json_t *entry;
	size_t i;

	json_array_foreach(entries, i, entry) if (is_of(entry, kind, frame)) return entry;
	return NULL;
}

static bool
has_verdict(const json_t *entry, const char *verdict)
{
	return !strncmp(text(entry, "verdict"), verdict, strlen(verdict));
}

/* Entries with one of two verdicts. */
static size_t
count_verdicts(const json_t *ledger, const char *one, const char *other)
{
	const json_t *entry;
	size_t count = 0;
	size_t i;

	json_array_foreach(json_object_get(ledger, "entries"), i, entry)
		count += has_verdict(entry, one) || has_verdict(entry, other);
	return count;
}

/* NULL: it is as expected. */
static const char *
find_fault(const json_t *ledger, const struct expected *expected)
{
	const json_t *entry = find_entry(ledger, expected->kind, expected->frame);

	if (!entry)
		return "missing";
	const char *class_name = text(entry, "class");
	if (expected->class_name ? !class_name || strcmp(class_name, expected->class_name)
				 : class_name != NULL)
		return "another class";
	if (strncmp(text(entry, "verdict"), expected->verdict, strlen(expected->verdict)) != 0)
		return text(entry, "verdict");
	if (!expected->is_growing)
		return json_number_value(json_object_get(entry, "longest_ms")) < 20 ? "not long"
										    : NULL;
	struct th_figure held = th_figure_read(entry, "held");
	/* The thread with local references takes them at its own pace. */
	if (strcmp(expected->kind, "local") != 0 && held.estimate != atoi(STEPS))
		return "another number";
	return NULL;
}

/* Whether the machine stopped the program for a good part of its time. */
static bool
was_stopped(const struct th_recording *recording)
{
	const json_t *pace = json_array_get(recording->truth, 0);

	return number(pace, "longest_ms") * STOPPED_PART > number(pace, "total_ms");
}

/* Records until the program was not stopped. */
static void
record_paced(const struct th_jdk *jdk, const char *mode, struct th_recording *ret)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		record(jdk, TH_WORDS(NULL), TH_WORDS(STEPS, mode), "1", ret);
		if (!was_stopped(ret))
			return;
		th_recording_deinit(ret);
	}
	skip();
}

static void
check_leaks(const struct th_recording *recording)
{
	json_t *leaks = load(recording, "leaks");
	json_t *outcome = json_object_get(leaks, "outcome");

	assert_int_equal(number(json_object_get(leaks, "counts"), "dead_attached_threads"), 10);
	assert_true(json_array_size(json_object_get(leaks, "ledger")) >= KINDS);
	if (outcome)
		assert_string_equal(text(outcome, "verdict"), "found");
	json_decref(leaks);
}

/* The number of kinds that are not as expected. */
static size_t
count_faults(const json_t *ledger)
{
	size_t faults = 0;

	for (size_t i = 0; i < KINDS; i++) {
		const char *fault = find_fault(ledger, &leaking[i]);

		if (fault)
			print_message("%s %s: %s\n", leaking[i].kind, leaking[i].frame, fault);
		faults += fault != NULL;
	}
	return faults;
}

/*
 * Records the leaks until they are as expected: where the machine stops the program for some tenths of
 * a second before it ends, leaks have ended before.
 */
static json_t *
record_leaks(const struct th_jdk *jdk, struct th_recording *ret)
{
	for (int i = 1;; i++) {
		record_paced(jdk, "leak", ret);
		json_t *ledger = load(ret, "ledger");
		size_t faults = count_faults(ledger);

		if (!faults)
			return ledger;
		if (i == ATTEMPTS)
			fail_msg("%zu kinds are not as expected", faults);
		json_decref(ledger);
		th_recording_deinit(ret);
	}
}

static void
each_kind(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *ledger = record_leaks(jdk, &recording);

	/* Sections of others may be long, too, if their thread gets no processor. */
	assert_int_equal(count_verdicts(ledger, "leak", "commit"), LEAKS);
	assert_string_equal(
		text(find_entry(ledger, "global", "Java_Ledger_cached"), "verdict"), "cache");
	assert_string_equal(text(find_entry(ledger, "global", "Ledger.once"), "verdict"),
		"never given back");
	check_leaks(&recording);
	json_decref(ledger);
	th_recording_deinit(&recording);
}

/*
 * Without leaks at any pace, and without long sections where no thread had to wait for a processor in
 * one.
 */
static void
clean_twins(const struct th_jdk *jdk)
{
	struct th_recording recording;
	size_t sections = 1;

	for (int i = 0; i < ATTEMPTS && sections; i++) {
		record(jdk, TH_WORDS(NULL), TH_WORDS(STEPS, "clean"), "1", &recording);
		json_t *ledger = load(&recording, "ledger");

		for (size_t k = 0; k < KINDS; k++)
			assert_non_null(find_entry(ledger, leaking[k].kind, leaking[k].frame));
		assert_int_equal(count_verdicts(ledger, "leak", "commit"), 0);
		assert_int_equal(
			number(json_object_get(ledger, "counts"), "dead_attached_threads"), 0);
		sections = count_verdicts(ledger, "critical", "critical");
		json_decref(ledger);
		th_recording_deinit(&recording);
	}
	if (sections)
		skip();
}

/* Others */

static struct th_figure
held(const json_t *ledger, const char *kind, const char *frame)
{
	const json_t *entry = find_entry(ledger, kind, frame);

	assert_non_null(entry);
	return th_figure_read(entry, "held");
}

static void
with_checks(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *ledger;

	record(jdk, TH_WORDS("-Xcheck:jni"), TH_WORDS("1", "references"), "exact", &recording);
	ledger = load(&recording, "ledger");
	struct th_figure figure = held(ledger, "global", "Java_Ledger_references");
	assert_true(figure.exact && figure.estimate == 1000);
	json_decref(ledger);
	th_recording_deinit(&recording);
}

/* The word before a text in what the other agent prints. */
static long
count_of_agent(const struct th_recording *recording, const char *format)
{
	const char *line = strstr(recording->outcome.errors, "wraps: ");
	long count = -1;

	assert_non_null(line);
	sscanf(line, format, &count);
	return count;
}

/*
 * Beside an agent that wraps the same functions, and was there before: on wraps its functions, off
 * leaves them, and it sees all calls.
 */
static void
on_and_off(const struct th_jdk *jdk)
{
	struct th_recording recording;
	json_t *ledger;

	record(jdk, TH_WORDS("-agentpath:" WRAPS),
		TH_WORDS("1", "references,run,references,run,references", TH_TOOL, "ctl", "PID",
			"ledger", "exact", "--", TH_TOOL, "ctl", "PID", "ledger", "off"),
		"0", &recording);
	ledger = load(&recording, "ledger");
	struct th_figure globals = held(ledger, "global", "Java_Ledger_references");
	assert_true(globals.exact && globals.estimate == 1000);
	struct th_figure weaks = held(ledger, "weak", "Java_Ledger_references");
	assert_true(weaks.exact && weaks.estimate == 500);
	/* The VM's count contains those of before and after. */
	const json_t *counted = json_object_get(
		json_object_get(ledger, "counts"), "global_refs");
	assert_true(number(counted, "last") >= 3000);
	assert_true(count_of_agent(&recording, "wraps: %ld created") >= 3000);
	json_decref(ledger);
	th_recording_deinit(&recording);
}

/* In a program that runs already, with the option of attach. */
static void
attached(const struct th_jdk *jdk)
{
	struct th_recording recording = {.directory = th_temporary_directory()};
	struct th_outcome outcome;

	recording.log = th_format("%s/log.thl", recording.directory);
	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS(jdk->java, "-cp", JAR, "Ledger", TAKES, "1",
				"run,references,run", TH_TOOL, "attach", "--ledger", "-q", "-o",
				recording.log, "PID", "--", TH_TOOL, "detach", "PID"),
			.directory = recording.directory,
		},
		&outcome);
	json_t *ledger = load(&recording, "ledger");
	struct th_figure figure = held(ledger, "global", "Java_Ledger_references");
	th_assert_covers(&figure, 1000, "attached");
	json_decref(ledger);
	th_outcome_deinit(&outcome);
	free(recording.log);
}

/* The last counts of a kind. */
static uint64_t
taken_of(const struct th_recording *recording, enum th_ledger_kind kind)
{
	struct th_dump dump;
	uint64_t taken = 0;

	th_dump_init(&dump, recording->log);
	while (th_dump_next(&dump, "ledger_count"))
		if (th_dump_number(&dump, "kind") == kind)
			taken = th_dump_number(&dump, "taken");
	th_dump_deinit(&dump);
	return taken;
}

/* The largest number taken at one place. */
static struct th_figure
largest(const json_t *ledger, const char *kind)
{
	struct th_figure found = {0};
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(ledger, "entries"), i, entry)
	{
		struct th_figure taken = th_figure_read(entry, "taken");

		if (!strcmp(text(entry, "kind"), kind) && taken.estimate > found.estimate)
			found = taken;
	}
	return found;
}

/*
 * What following costs at worst is bounded by the number of stacks: of a caller the first 3 * 512 in
 * falling part, then one in 512.  Counts are exact, and intervals cover them.
 */
static void
frequent_pairs(const struct th_jdk *jdk)
{
	static const char *const kinds[] = {"global", "elements", "utf", "critical"};
	struct th_recording recording;
	struct th_dump dump;
	json_t *ledger;

	record(jdk, TH_WORDS(NULL), TH_WORDS(PAIRS_THOUSANDS, "pairs"), "1", &recording);
	assert_in_range(taken_of(&recording, TH_LEDGER_GLOBAL), PAIRS, PAIRS + PAIRS / 100);
	assert_in_range(taken_of(&recording, TH_LEDGER_UTF), PAIRS, PAIRS + PAIRS / 100);
	ledger = load(&recording, "ledger");
	for (size_t i = 0; i < 4; i++) {
		struct th_figure taken = largest(ledger, kinds[i]);

		assert_false(taken.exact);
		th_assert_covers(&taken, PAIRS, kinds[i]);
	}
	th_dump_init(&dump, recording.log);
	assert_in_range(th_dump_count(&dump, "ledger_take"), 4 * 1536, 4 * 3000);
	th_dump_deinit(&dump);
	json_decref(ledger);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"counts of the VM", counts_of_vm, 0},
		{"each kind", each_kind, 0},
		{"clean twins", clean_twins, 0},
		{"with -Xcheck:jni", with_checks, 0},
		{"on and off", on_and_off, 0},
		{"frequent pairs", frequent_pairs, 0},
		{"attached", attached, 25},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("ledger", tests);
}
