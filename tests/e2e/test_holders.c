/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds Java objects: a program that keeps objects in one way for each kind of holder, and its
 * clean twin, on every JDK; limits of pause and memory; a second walk after a collection.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define TAKES PROGRAMS "/libtakes.so"
#define JAR PROGRAMS "/programs.jar"
/* Four seconds, which are much longer than the walks after them. */
#define STEPS "800"
#define OBJECTS 800
/* A fifth, after the warm-up, is too much (docs/leaks.md). */
#define IDLE_MAX 0.12
#define ATTEMPTS 5
/* Class loaders of the VM and of the JDK. */
#define LOADERS_OF_VM 20
#define CTL TH_TOOL " ctl $0 "
/*
 * Intervals of 95 % are 2 standard deviations to each side; 6 are exceeded by less than one of 10
 * million estimates.
 */
#define WIDER 3

/* One walk that is refused for each reason, then two with a collection between them. */
#define COMMANDS                                                                  \
	CTL "mark done; " CTL "holders --max-pause 1ms 2>&1; echo short $?; " CTL \
	    "holders --max-memory 1M 2>&1; echo small $?; " CTL                   \
	    "holders --max-pause 100s; echo first $?; " CTL "gc; " CTL            \
	    "holders --max-pause 100s; echo second $?"

static void
record_once(const struct th_jdk *jdk, const char *mode, struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-Xmx256m", "-cp", JAR, "Holds", TAKES,
				STEPS, mode, "sh", "-c", COMMANDS, "PID"),
			.settings = TH_WORDS(
				"TWINHEAP_LEDGER=1", "TWINHEAP_INTERVAL=4k", "TWINHEAP_SEED=1"),
		},
		ret);
}

/*
 * Whether the commands after the steps took so long that the program counts as idle, which a machine
 * that stops it for seconds can do.
 */
static bool
was_idle(const struct th_recording *recording)
{
	double whole = (th_recording_end(recording) - th_recording_start(recording)) * 1e-9;
	double done = whole;
	struct th_dump dump;

	th_dump_init(&dump, recording->log);
	while (th_dump_next(&dump, "mark"))
		done = strtod(strstr(dump.line, " time=+") + strlen(" time=+"), NULL);
	th_dump_deinit(&dump);
	print_message("%.1f of %.1f s after the steps\n", whole - done, whole);
	return whole - done > IDLE_MAX * whole;
}

/* Up to ATTEMPTS times; the last one counts in any case. */
static void
record(const struct th_jdk *jdk, const char *mode, struct th_recording *ret)
{
	record_once(jdk, mode, ret);
	for (int i = 1; i < ATTEMPTS && was_idle(ret); i++) {
		th_recording_deinit(ret);
		record_once(jdk, mode, ret);
	}
}

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

static const char *
text(const json_t *json, const char *name)
{
	const char *value = json_string_value(json_object_get(json, name));

	return value ? value : "";
}

static bool
has_frame(const json_t *frames, const char *name)
{
	const json_t *frame;
	size_t i;

	json_array_foreach(
		frames, i, frame) if (!strcmp(text(frame, "name"), name)) return true;
	return false;
}

/* The largest finding of this heap below a method; NULL: there is none. */
static const json_t *
find_finding(const json_t *report, const char *heap, const char *method)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(json_object_get(report, "findings"), i,
		finding) if (!strcmp(text(finding, "heap"), heap) &&
			     has_frame(json_object_get(finding, "frames"),
				     method)) return finding;
	return NULL;
}

/* "static Holds.links | field Holds$Link.next" */
static char *
path_of(const json_t *holder)
{
	const json_t *element;
	char *path = th_format("%s", "");
	size_t i;

	json_array_foreach(json_object_get(holder, "path"), i, element)
	{
		char *longer = th_format("%s%s%s %s", path, i ? " | " : "",
			text(element, "kind"), text(element, "name"));

		free(path);
		path = longer;
	}
	return path;
}

/* The kinds of holders */

struct expected {
	const char *heap;
	const char *method; /* that allocated the objects */
	const char *path;   /* of most of them, or its beginning */
	const char *root;   /* function of C that made the root; NULL = no reference of JNI */
	int objects;        /* 0: not counted */
};

#define ELEMENTS "field java.util.ArrayList.elementData | element java.lang.Object[]"
static const struct expected leaking[] = {
	{"java", "Holds$Session.<init>",
		"static Holds.SESSIONS | field java.util.concurrent.ConcurrentHashMap.table | "
		"element java.util.concurrent.ConcurrentHashMap$Node[] | field "
		"java.util.concurrent.ConcurrentHashMap$Node.val | field Holds$Session.ticket",
		NULL, OBJECTS},
	{"java", "Holds$Listener.<init>",
		"static Holds.BUS | field Holds$Bus.listeners | " ELEMENTS
		" | field Holds$Listener.state",
		NULL, OBJECTS},
	{"java", "Holds$Buffer.<init>",
		"thread-local pool-1-thread-* | " ELEMENTS " | field Holds$Buffer.text", NULL,
		OBJECTS},
	{"java", "Holds$Link.<init>",
		"static Holds.links | field Holds$Link.next | field Holds$Link.words", NULL,
		OBJECTS},
	{"java", "Holds$Plugin.<clinit>",
		"static Holds.PLUGINS | field java.util.ArrayDeque.elements | element "
		"java.lang.Object[] | loader Holds$PluginLoader | static Holds$Plugin.CACHE",
		NULL, OBJECTS},
	{"java", "Holds.addLocal", "stack main: Holds.main | " ELEMENTS, NULL, OBJECTS},
	{"java", "Holds$Node.<init>", "jni-global Holds$Node | field Holds$Node.",
		"Java_Ledger_global", 0},
	{"native", "Holds.addDirect",
		"static Holds.BUFFERS | field java.util.Collections$SynchronizedList.list "
		"| " ELEMENTS,
		NULL, 0},
};

static void
check_objects(const json_t *holder, const struct expected *expected)
{
	struct th_figure objects = th_figure_read(holder, "objects");
	double truth = expected->objects;

	if (truth > objects.estimate + WIDER * (objects.high - objects.estimate) ||
		truth < objects.estimate - WIDER * (objects.estimate - objects.low))
		fail_msg("%s: %.0f objects (%.0f to %.0f) instead of %.0f", expected->method,
			objects.estimate, objects.low, objects.high, truth);
}

static void
check_holder(const json_t *report, const struct expected *expected)
{
	const json_t *finding = find_finding(report, expected->heap, expected->method);

	if (!finding)
		fail_msg("%s: no finding with holders", expected->method);
	assert_true(json_integer_value(json_object_get(finding, "lines")) >= 1);
	/* The one with most bytes. */
	const json_t *holder = json_array_get(json_object_get(finding, "holders"), 0);
	char *path = path_of(holder);

	if (strncmp(path, expected->path, strlen(expected->path)) != 0)
		fail_msg("%s: held by %s", expected->method, path);
	if (expected->root)
		assert_true(has_frame(json_object_get(holder, "root_frames"), expected->root));
	else
		assert_true(json_is_null(json_object_get(holder, "root_frames")));
	if (expected->objects)
		check_objects(holder, expected);
	free(path);
}

/* What the tool printed in the program. */
static void
check_requests(const struct th_recording *recording)
{
	const char *output = recording->outcome.output;

	assert_non_null(strstr(output, "holders would stop the VM for "));
	assert_non_null(strstr(output, "--max-pause is 1.0 ms"));
	assert_non_null(strstr(output, "short 4\n"));
	assert_non_null(strstr(output, "--max-memory is 1.00 MiB"));
	assert_non_null(strstr(output, "small 4\n"));
	assert_non_null(strstr(output, "first 0\n"));
	assert_non_null(strstr(output, "second 0\n"));
}

/* leaks has the same holders. */
static void
check_leaks(const struct th_recording *recording)
{
	json_t *leaks = load(recording, "leaks");
	const json_t *finding = find_finding(leaks, "java", "Holds$Link.<init>");
	char *printed = th_command_output(
		TH_WORDS(TH_TOOL, "leaks", "--all", "--top", "1000", recording->log));

	assert_non_null(finding);
	char *path = path_of(json_array_get(json_object_get(finding, "holders"), 0));
	assert_string_equal(
		path, "static Holds.links | field Holds$Link.next | field Holds$Link.words");
	assert_non_null(strstr(printed, "by static Holds.links -> Holds$Link.next -> "));
	free(path);
	free(printed);
	json_decref(leaks);
}

/* Class loaders with a path, as the last walk has logged them. */
static uint64_t
count_loaders(const struct th_recording *recording)
{
	struct th_dump dump;
	uint64_t last = 0;
	uint64_t count = 0;

	th_dump_init(&dump, recording->log);
	while (th_dump_next(&dump, "holder_loaders")) {
		if (th_dump_number(&dump, "walk") != last)
			count = 0;
		last = th_dump_number(&dump, "walk");
		count += th_dump_number(&dump, "count");
	}
	th_dump_deinit(&dump);
	return count;
}

/*
 * All class loaders of the plugin have a path, which their finding has.  A program that the machine
 * stops for long in its second or two may have no such finding.
 */
static void
check_loaders(const struct th_recording *recording)
{
	json_t *leaks = load(recording, "leaks");
	const json_t *finding = find_finding(leaks, "classes", "Holds$PluginLoader.load");

	assert_in_range(count_loaders(recording), OBJECTS, OBJECTS + LOADERS_OF_VM);
	if (finding) {
		const json_t *holder = json_array_get(json_object_get(finding, "holders"), 0);
		char *path = path_of(holder);

		assert_string_equal(path,
			"static Holds.PLUGINS | field java.util.ArrayDeque.elements | "
			"element java.lang.Object[] | loader Holds$PluginLoader");
		assert_true(th_figure_read(holder, "objects").estimate == OBJECTS);
		free(path);
	}
	json_decref(leaks);
}

/* A walk's cost is in the log, and within what was allowed. */
static void
check_walk(const json_t *report)
{
	const json_t *walk = json_object_get(report, "walk");

	assert_true(json_number_value(json_object_get(walk, "paused_s")) > 0);
	assert_true(json_number_value(json_object_get(walk, "paused_s")) < 100);
	assert_true(json_number_value(json_object_get(walk, "memory_bytes")) <
		    json_number_value(json_object_get(walk, "heap_bytes")));
}

static void
each_kind(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, "leak", &recording);
	check_requests(&recording);
	json_t *report = load(&recording, "holders");
	for (size_t i = 0; i < sizeof(leaking) / sizeof(leaking[0]); i++)
		check_holder(report, &leaking[i]);
	check_walk(report);
	check_leaks(&recording);
	check_loaders(&recording);
	json_decref(report);
	th_recording_deinit(&recording);
}

/* No leak, above all not by the bounded cache of JNI references. */
static void
clean_twin(const struct th_jdk *jdk)
{
	struct th_recording recording;
	const json_t *finding;
	size_t i;

	record(jdk, "clean", &recording);
	json_t *leaks = load(&recording, "leaks");
	json_array_foreach(json_object_get(leaks, "findings"), i, finding)
	{
		bool is_ours = has_frame(json_object_get(finding, "frames"), "Holds.step");

		if (is_ours && !strcmp(text(finding, "verdict"), "leak"))
			fail_msg(
				"leak of %s: %s", text(finding, "class"), text(finding, "why"));
	}
	json_decref(leaks);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"each kind", each_kind, 0},
		{"clean twin", clean_twin, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("holders", tests);
}
