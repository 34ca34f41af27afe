/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakdowns of resident memory: rows add up to the RSS, and known contents are attributed to
 * the right row.  Compared with the kernel's own figure at the same time, with mallinfo2() and
 * malloc_trim(0).
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NATIVE TH_TEST_BUILD "/tests/programs/native_resident"
#define FORBID TH_TEST_BUILD "/tests/programs/forbid_reading"
#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define JEMALLOC "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
#define PASS TH_TEST_BUILD "/tests/programs/libpass.so"
#define MIB (1024.0 * 1024.0)
/* Limit of unexplained memory: this share of the RSS, or this many bytes. */
#define UNEXPLAINED_SHARE 0.03
#define UNEXPLAINED_BYTES (8 * MIB)
/* statm counts some pages later than they are touched: up to 64 per processor and kind. */
#define COUNTED_SLACK (4 * MIB)

struct account {
	json_t *json;
	double resident;
};

/* Helpers */

static json_t *
rss_json(const char *log, const char *at)
{
	const char *const arguments[] = {
		TH_TOOL, "rss", "--format", "json", "--at", at, log, NULL};
	char *text = th_command_output(arguments);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	free(text);
	return json;
}

static double
number(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	assert_true(json_is_number(value));
	return json_number_value(value);
}

static const json_t *
line(const struct account *account, const char *name)
{
	const json_t *lines = json_object_get(account->json, "lines");

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *found = json_array_get(lines, i);

		if (!strcmp(json_string_value(json_object_get(found, "name")), name))
			return found;
	}
	fail_msg("no line %s", name);
	return NULL;
}

static double
resident_of(const struct account *account, const char *name)
{
	struct th_figure figure = th_figure_read(line(account, name), "resident");

	return figure.estimate;
}

static void
print_account(const struct account *account)
{
	const json_t *lines = json_object_get(account->json, "lines");
	const json_t *verdict = json_object_get(account->json, "verdict");

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *found = json_array_get(lines, i);
		struct th_figure figure = th_figure_read(found, "resident");

		if (figure.estimate >= MIB)
			print_message("%9.1f MiB  %s\n", figure.estimate / MIB,
				json_string_value(json_object_get(found, "label")));
	}
	print_message("%9.1f MiB unexplained of %.1f; %s\n",
		number(account->json, "unexplained") / MIB, account->resident / MIB,
		json_string_value(json_object_get(verdict, "text")));
}

/* The library knows the owner of an anonymous mapping if it records mmap. */
static bool
knows_owners(const struct account *account)
{
	return json_is_true(json_object_get(account->json, "has_owners"));
}

/* The rows add up to smaps's figure, that equals statm's, and little is unexplained. */
static void
assert_adds_up(const struct account *account)
{
	const json_t *lines = json_object_get(account->json, "lines");
	double sum = 0;

	for (size_t i = 0; i < json_array_size(lines); i++) {
		struct th_figure figure = th_figure_read(json_array_get(lines, i), "resident");

		assert_true(figure.estimate > -1);
		sum += figure.estimate;
	}
	assert_true(fabs(sum - account->resident) < 1 + account->resident * 1e-9);
	assert_true(fabs(number(account->json, "counted") - account->resident) <
		    COUNTED_SLACK + account->resident / 100);
	assert_true(knows_owners(account));
	assert_true(number(account->json, "unexplained") <
		    fmax(UNEXPLAINED_BYTES, UNEXPLAINED_SHARE * account->resident));
}

static void
load(struct account *account, const char *log, const char *at)
{
	account->json = rss_json(log, at);
	account->resident = number(account->json, "resident");
	print_account(account);
	assert_adds_up(account);
}

static void
unload(struct account *account)
{
	json_decref(account->json);
}

static bool
has_cause(const struct account *account, const char *cause)
{
	const json_t *verdict = json_object_get(account->json, "verdict");

	return !strcmp(json_string_value(json_object_get(verdict, "cause")), cause);
}

static const char *
verdict_text(const struct account *account)
{
	return json_string_value(
		json_object_get(json_object_get(account->json, "verdict"), "text"));
}

static void
run(const char *const *arguments, const char *const *settings, struct th_recording *recording,
	struct account *account)
{
	th_recording_run(
		&(struct th_recording_plan){.arguments = arguments, .settings = settings},
		recording);
	load(account, recording->log, "end");
}

static void
run_java_with(const char *const *settings, const struct th_jdk *jdk, const char *option,
	const char *what, const char *argument, struct th_recording *recording,
	struct account *account)
{
	print_message("%s %s %s\n", option, what, argument);
	run(TH_WORDS(jdk->java, "-Xmx512m", "-XX:+UnlockExperimentalVMOptions", option, "-cp",
		    JAR, "Resident", what, argument),
		settings, recording, account);
}

static void
run_java(const struct th_jdk *jdk, const char *option, const char *what, const char *argument,
	struct th_recording *recording, struct account *account)
{
	run_java_with(NULL, jdk, option, what, argument, recording, account);
}

static const json_t *
truth(const struct th_recording *recording)
{
	assert_int_equal(json_array_size(recording->truth), 1);
	return json_array_get(recording->truth, 0);
}

/* Resident bytes of the heaps other than the main one. */
static double
part_of_arenas(const struct account *account)
{
	const json_t *parts = json_object_get(line(account, "malloc_retained"), "parts");

	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);

		if (!strcmp(json_string_value(json_object_get(part, "name")), "arenas"))
			return number(part, "resident");
	}
	return 0;
}

static void
assert_near(double value, double wanted, double slack)
{
	if (fabs(value - wanted) > slack)
		fail_msg("%.0f, not %.0f within %.0f", value, wanted, slack);
}

/* Programs without a VM */

/* A gigabyte in small blocks, of which one in a hundred is kept. */
static void
free_memory_that_malloc_keeps(void **state)
{
	struct th_recording recording;
	struct account account;

	(void)state;
	run(TH_WORDS(NATIVE, "fragments", "1073741824"), NULL, &recording, &account);
	double kernel = number(truth(&recording), "resident");
	assert_near(account.resident, kernel, 0.05 * kernel);
	assert_true(resident_of(&account, "malloc_retained") > 0.9 * kernel);
	assert_true(has_cause(&account, "retained"));
	unload(&account);
	th_recording_deinit(&recording);
}

/* A program without and with a final trim. */
struct trim {
	struct th_recording recording, trimmed;
	struct account account, after;
	double expected;
	double most;
	double given;
};

static void
run_trim(struct trim *trim, const char *what, const char *const *settings)
{
	run(TH_WORDS(NATIVE, what, "268435456"), settings, &trim->recording, &trim->account);
	run(TH_WORDS(NATIVE, what, "268435456", "trim"), settings, &trim->trimmed,
		&trim->after);
	const json_t *malloc_part = json_object_get(trim->account.json, "malloc");
	const json_t *range = json_object_get(malloc_part, "trimmable_range");
	trim->expected = number(malloc_part, "trimmable");
	trim->most = json_number_value(json_array_get(range, 1));
	trim->given = number(truth(&trim->trimmed), "trimmed");
	print_message("%s: %.0f expected, %.0f at most, %.0f given back\n", what,
		trim->expected, trim->most, trim->given);
}

static void
end_trim(struct trim *trim)
{
	unload(&trim->account);
	unload(&trim->after);
	th_recording_deinit(&trim->recording);
	th_recording_deinit(&trim->trimmed);
}

/*
 * The report's estimate of what malloc_trim(0) would release, compared with what it releases.
 */
static void
what_a_trim_gives_back(void **state)
{
	struct trim trim;

	(void)state;
	run_trim(&trim, "fragments", TH_WORDS("TWINHEAP_INTERVAL=64k"));
	assert_near(trim.expected, trim.given, 0.1 * trim.given);
	assert_near(resident_of(&trim.account, "malloc_retained") -
			    resident_of(&trim.after, "malloc_retained"),
		trim.given, 0.1 * trim.given);
	/* No more memory can be released. */
	assert_true(number(json_object_get(trim.after.json, "malloc"), "trimmable") <
		    0.1 * trim.given);
	end_trim(&trim);
}

/*
 * Where blocks are dense, the addresses of sampled blocks are used; the precision depends on
 * the interval.
 */
static void
what_a_trim_gives_back_of_dense_heaps(void **state)
{
	static const char *const what[] = {"halves", "blocks", "runs", "sparse"};
	/* For 59 MiB: five standard deviations of its estimate. */
	static const double slack[] = {0.1, 0.1, 0.1, 0.4};

	(void)state;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		struct trim trim;

		run_trim(&trim, what[i], TH_WORDS("TWINHEAP_INTERVAL=64k"));
		assert_near(trim.expected, trim.given, slack[i] * trim.given);
		assert_true(trim.most > 0.9 * trim.given);
		end_trim(&trim);
	}
}

/* The savings from fewer arenas, with threads that need the memory in turn. */
static void
what_fewer_arenas_save(void **state)
{
	static const char *const limits[] = {"MALLOC_ARENA_MAX=1", "MALLOC_ARENA_MAX=2"};
	/* This many of eight equal arenas are gone. */
	static const double saved[] = {7 / 8.0, 6 / 8.0};
	struct th_recording many;
	struct account account;

	(void)state;
	run(TH_WORDS(NATIVE, "arenas", "268435456"), NULL, &many, &account);
	double bound = fmin(resident_of(&account, "malloc_retained"), part_of_arenas(&account));
	double all = number(truth(&many), "resident");
	assert_true(has_cause(&account, "retained"));
	assert_non_null(strstr(verdict_text(&account), "MALLOC_ARENA_MAX=1 would save up to"));
	unload(&account);
	th_recording_deinit(&many);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct th_recording few;

		run(TH_WORDS(NATIVE, "arenas", "268435456"), TH_WORDS(limits[i]), &few,
			&account);
		double given = all - number(truth(&few), "resident");
		print_message("%s: up to %.0f, %.0f saved\n", limits[i], bound, given);
		assert_true(given <= bound);
		assert_near(given, saved[i] * bound, 0.1 * bound);
		unload(&account);
		th_recording_deinit(&few);
	}
}

/* Whole blocks of `each` bytes that make up `total`, and the array of their addresses. */
static double
with_array(double total, double each)
{
	return floor(total / each) * (each + 8);
}

static void
blocks_in_use(void **state)
{
	struct th_recording recording;
	struct account account;
	struct th_figure figure;

	(void)state;
	run(TH_WORDS(NATIVE, "live", "134217728"), TH_WORDS("TWINHEAP_INTERVAL=64k"),
		&recording, &account);
	double known = with_array(134217728, 1000);
	figure = th_figure_read(line(&account, "malloc_application"), "resident");
	th_assert_covers(&figure, known, "live blocks in memory");
	figure = th_figure_read(json_object_get(account.json, "malloc"), "live");
	th_assert_covers(&figure, known, "live blocks");
	unload(&account);
	th_recording_deinit(&recording);
}

/* Allocated memory need not be resident. */
static void
blocks_that_are_not_touched(void **state)
{
	struct th_recording recording;
	struct account account;
	struct th_figure figure;

	(void)state;
	run(TH_WORDS(NATIVE, "untouched", "268435456"), TH_WORDS("TWINHEAP_INTERVAL=64k"),
		&recording, &account);
	const json_t *malloc_part = json_object_get(account.json, "malloc");
	figure = th_figure_read(malloc_part, "live");
	th_assert_covers(&figure, with_array(268435456, 192 << 10), "live");
	/* A quarter of each, and the page with the header of the next. */
	figure = th_figure_read(malloc_part, "touched");
	assert_near(figure.estimate, 268435456 / 4.0, 0.05 * 268435456 / 4.0);
	assert_true(figure.low > 0.9 * figure.estimate);
	unload(&account);
	th_recording_deinit(&recording);
}

static void
a_file_that_is_read(void **state)
{
	struct th_recording recording;
	struct account account;
	char *path = th_format("%s/large", th_temporary_directory());
	char *size = th_format("of=%s", path);

	(void)state;
	free(th_command_output(
		TH_WORDS("dd", "if=/dev/zero", size, "bs=1M", "count=64", "status=none")));
	run(TH_WORDS(NATIVE, "file", path), NULL, &recording, &account);
	assert_true(resident_of(&account, "files") >= 64 * MIB);
	assert_true(has_cause(&account, "files"));
	unload(&account);
	th_recording_deinit(&recording);
	free(path);
	free(size);
}

static void
skip_without_jemalloc(void)
{
	if (!access(JEMALLOC, R_OK))
		return;
	print_message("no %s\n", JEMALLOC);
	skip();
}

/* Memory in pages without a block is released by jemalloc when it is told not to wait. */
static void
what_jemalloc_gives_back(void **state)
{
	struct th_recording kept, purged;
	struct account account, after;

	(void)state;
	skip_without_jemalloc();
	run(TH_WORDS(NATIVE, "fragments", "268435456"),
		TH_WORDS("LD_PRELOAD=" TH_LIBRARY " " JEMALLOC,
			"MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1"),
		&kept, &account);
	run(TH_WORDS(NATIVE, "fragments", "268435456"),
		TH_WORDS("LD_PRELOAD=" TH_LIBRARY " " JEMALLOC,
			"MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0"),
		&purged, &after);
	double expected = number(json_object_get(account.json, "malloc"), "trimmable");
	double given = number(truth(&kept), "resident") - number(truth(&purged), "resident");
	print_message("jemalloc: %.0f expected, %.0f given back\n", expected, given);
	assert_near(expected, given, 0.1 * given);
	assert_true(has_cause(&account, "retained"));
	assert_non_null(strstr(verdict_text(&account), "libjemalloc.so.2 retains"));
	unload(&account);
	unload(&after);
	th_recording_deinit(&kept);
	th_recording_deinit(&purged);
}

/* Its heaps are identified by the caller of mmap. */
static void
another_allocator_underneath(void **state)
{
	struct th_recording recording;
	struct account account;

	(void)state;
	skip_without_jemalloc();
	run(TH_WORDS(NATIVE, "live", "134217728"),
		TH_WORDS("LD_PRELOAD=" TH_LIBRARY " " JEMALLOC), &recording, &account);
	assert_true(resident_of(&account, "malloc_application") > 100 * MIB);
	assert_true(resident_of(&account, "mapped") < MIB);
	unload(&account);
	th_recording_deinit(&recording);
}

/*
 * Half is mapped and half is malloc's, side by side, whichever library provides malloc: a
 * library that forwards to libc, whose mappings are not recorded, must not be assigned its
 * neighbors'.
 */
static void
neighbours_of_blocks(void **state)
{
	const char *const preloads[] = {
		"LD_PRELOAD=" TH_LIBRARY,
		"LD_PRELOAD=" TH_LIBRARY " " PASS,
		"LD_PRELOAD=" TH_LIBRARY " " JEMALLOC,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(preloads) / sizeof(*preloads); i++) {
		struct th_recording recording;
		struct account account;

		if (strstr(preloads[i], JEMALLOC))
			skip_without_jemalloc();
		/* So dense that the error of malloc's part is far below what may be unexplained. */
		run(TH_WORDS(NATIVE, "neighbours", "134217728"),
			TH_WORDS(preloads[i], "TWINHEAP_INTERVAL=16k"), &recording, &account);
		assert_near(resident_of(&account, "mapped"), 64 * MIB, MIB);
		/* malloc's part of the memory is an estimate, the sum is not. */
		assert_near(resident_of(&account, "malloc_application") +
				    resident_of(&account, "malloc_retained") +
				    resident_of(&account, "unexplained"),
			64 * MIB, 2 * MIB);
		unload(&account);
		th_recording_deinit(&recording);
	}
}

/* By another process */

/* Runs a shell script in a directory of its own; returns its output. */
static char *
run_script(const char *directory, const char *script)
{
	struct th_outcome outcome;
	char *output;

	th_command_check(&(struct th_command){.arguments = TH_WORDS("sh", "-c", script),
				 .directory = directory},
		&outcome);
	output = strdup(outcome.output);
	th_outcome_deinit(&outcome);
	return output;
}

/* Same layout as neighbours_of_blocks(). */
static void
assert_neighbours(const struct account *account)
{
	assert_near(resident_of(account, "mapped"), 64 * MIB, MIB);
	assert_near(resident_of(account, "malloc_application") +
			    resident_of(account, "malloc_retained") +
			    resident_of(account, "unexplained"),
		64 * MIB, 2 * MIB);
	assert_true(resident_of(account, "twinheap") > 0);
}

#define HOLD                                                                 \
	"env LD_PRELOAD=" TH_LIBRARY " TWINHEAP_OUTPUT=$PWD/log.thl " NATIVE \
	" neighbours 134217728 hold 60 >line & pid=$!; "                     \
	"while [ ! -s line ]; do sleep 0.05; done; "

/*
 * A process that is idle and then killed takes no breakdown itself.  The one taken by `rss PID`
 * includes everything that the library knows about it.
 */
static void
a_process_from_outside(void **state)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);
	struct account account;

	(void)state;
	free(run_script(directory, HOLD TH_TOOL " rss $pid; kill -9 $pid"));
	load(&account, log, "end");
	assert_neighbours(&account);
	assert_int_equal(json_array_size(json_object_get(account.json, "accounts")), 1);
	unload(&account);
	free(log);
}

/* 400 MB of files, of which 40 pages are used, are no leak: what counts is what is resident. */
static void
files_that_are_hardly_used(void **state)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);

	(void)state;
	free(run_script(directory, TH_TOOL " run -q -o log.thl -- " NATIVE " files 419430400"));
	char *text = th_command_output(TH_WORDS(TH_TOOL, "leaks", "--format", "json", log));
	json_t *report = json_loads(text, 0, NULL);
	json_t *findings = json_object_get(report, "findings");
	const json_t *largest = NULL;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		const json_t *finding = json_array_get(findings, i);

		assert_string_not_equal(
			json_string_value(json_object_get(finding, "verdict")), "leak");
		if (json_number_value(json_object_get(finding, "mapped_bytes")) > 100 * MIB)
			largest = finding;
	}
	assert_non_null(largest);
	assert_true(json_is_true(json_object_get(largest, "is_resident")));
	assert_true(th_figure_read(largest, "live_bytes").estimate <= MIB);
	print_message("%s\n", json_string_value(json_object_get(largest, "why")));
	json_decref(report);
	free(text);
	free(log);
}

/* 400 MiB for two seconds: the largest snapshot is near the peak, and the last one knows it. */
static void
a_peak_that_has_passed(void **state)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);
	struct account account;

	(void)state;
	free(run_script(directory, TH_TOOL " run -q -o log.thl -- " NATIVE " peak 419430400"));
	load(&account, log, "peak");
	assert_true(account.resident > 0.85 * 400 * MIB);
	assert_true(resident_of(&account, "malloc_application") > 0.85 * 400 * MIB);
	unload(&account);
	load(&account, log, "end");
	assert_true(account.resident < 100 * MIB);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(account.json, "verdict"), "course")),
		"fell");
	unload(&account);
	free(log);
}

/* The launcher takes them itself, for a process that grows and for one that does not. */
static void
a_process_of_run(void **state)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);
	struct account account;

	(void)state;
	free(run_script(directory, TH_TOOL " run -q -o log.thl -- " NATIVE
					   " neighbours 134217728 hold 5; [ $? = 137 ]"));
	load(&account, log, "end");
	assert_neighbours(&account);
	assert_true(json_array_size(json_object_get(account.json, "accounts")) >= 2);
	unload(&account);
	load(&account, log, "peak");
	assert_neighbours(&account);
	unload(&account);
	free(log);
}

/* One line gives the reason why there is none. */
static void
nobody_took_one(void **state)
{
	const char *directory = th_temporary_directory();
	char *text = run_script(
		directory, HOLD "kill -9 $pid; wait; " TH_TOOL " rss log.thl 2>&1; [ $? = 3 ]");

	(void)state;
	assert_non_null(strstr(text, "contains no breakdown of resident memory"));
	assert_non_null(strstr(text, "twinheap rss PID"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
}

/* If the memory of the process may not be read, the reason is printed. */
static void
nobody_may_take_one(void **state)
{
	const char *directory = th_temporary_directory();
	char *text = run_script(
		directory, HOLD FORBID " " TH_TOOL " rss $pid 2>&1; [ $? = 3 ]; kill -9 $pid");

	(void)state;
	assert_non_null(strstr(text, "no new breakdown of its resident memory: this user may "
				     "not read its memory"));
	free(text);
	text = run_script(directory, FORBID " " TH_TOOL " run -o run.thl -- " NATIVE
					    " neighbours 134217728 hold 1 2>&1 | cat");
	assert_non_null(strstr(text, "no breakdown of its resident memory: this user may "
				     "not read its memory"));
	free(text);
}

/* With a VM */

/* Committed memory is at least the resident memory, and at most the reserved. */
static void
assert_code_cache(const struct account *account)
{
	const json_t *found = line(account, "code_cache");
	double committed = number(found, "committed");

	assert_true(json_is_null(json_object_get(found, "used")));
	assert_true(committed >= resident_of(account, "code_cache"));
	assert_true(committed <= number(found, "limit"));
	assert_true(number(found, "limit") <= number(found, "size"));
	/* -XX:ReservedCodeCacheSize of the run below. */
	assert_near(number(found, "limit"), 64 * MIB, 4096);
}

static void
the_code_cache(const struct th_jdk *jdk)
{
	static const char *const segmented[] = {
		"-XX:+SegmentedCodeCache", "-XX:-SegmentedCodeCache"};

	for (size_t i = 0; i < 2; i++) {
		struct th_recording recording;
		struct account account;

		run(TH_WORDS(jdk->java, "-XX:ReservedCodeCacheSize=64m", segmented[i], "-cp",
			    JAR, "Resident", "idle"),
			NULL, &recording, &account);
		assert_code_cache(&account);
		unload(&account);
		th_recording_deinit(&recording);
	}
}

static void
an_idle_vm(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {
		"-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-Xshare:off"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		struct th_recording recording;
		struct account account;

		run_java(jdk, collectors[i], "idle", "0", &recording, &account);
		unload(&account);
		th_recording_deinit(&recording);
	}
}

/* Z maps its heap up to three times, and the kernel counts each mapping. */
static void
a_java_heap(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {"-XX:+UseG1GC", "-XX:+UseZGC"};

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		struct th_recording recording;
		struct account account;

		run_java(jdk, collectors[i], "heap", "0", &recording, &account);
		assert_true(resident_of(&account, "java_heap") > 96 * MIB);
		assert_true(has_cause(&account, "java-heap"));
		unload(&account);
		th_recording_deinit(&recording);
	}
}

/*
 * The launcher takes no breakdown of a Java VM, even at its end, when the agent thread has
 * ended: it does not know which memory is the Java heap.
 */
static void
a_vm_of_run(const struct th_jdk *jdk)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);
	char *script = th_format(TH_TOOL " run -q -o log.thl -- %s -Xmx512m -cp " JAR
					 " Resident heap 0",
		jdk->java);
	struct account account;

	free(run_script(directory, script));
	load(&account, log, "end");
	assert_true(resident_of(&account, "java_heap") > 96 * MIB);
	unload(&account);
	free(script);
	free(log);
}

/*
 * Memory that zlib allocates for a Deflater and does not use: known from its requested sizes
 * and from the kernel.  The budget of a busy machine would leave too few samples for the bound.
 */
static void
deflaters_without_end(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account, idle;
	struct th_recording nothing;
	struct th_figure live, touched;

	run_java(jdk, "-XX:+UseSerialGC", "idle", "0", &nothing, &idle);
	run_java_with(TH_WORDS("TWINHEAP_INTERVAL=64k"), jdk, "-XX:+UseSerialGC", "deflaters",
		"0", &recording, &account);
	const json_t *malloc_part = json_object_get(account.json, "malloc");
	const json_t *allocator = json_object_get(malloc_part, "allocator");
	live = th_figure_read(malloc_part, "live");
	touched = th_figure_read(malloc_part, "touched");
	double known = number(allocator, "used") + number(allocator, "mapped");
	print_message("live %.0f, by mallinfo2 %.0f; touched %.0f\n", live.estimate, known,
		touched.estimate);
	/* Excluding 4 MiB that libc allocated for itself, stack descriptors and the like. */
	assert_near(live.estimate, known, 8 * MIB);
	assert_near(resident_of(&account, "malloc_jdk"), account.resident - idle.resident,
		16 * MIB);
	assert_true(has_cause(&account, "malloc"));
	unload(&account);
	unload(&idle);
	th_recording_deinit(&recording);
	th_recording_deinit(&nothing);
}

static void
direct_buffers(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;
	struct th_figure figure;
	const json_t *pool;

	run_java(jdk, "-XX:+UseSerialGC", "buffers", "1500", &recording, &account);
	figure = th_figure_read(line(&account, "malloc_direct"), "cached");
	assert_true(figure.estimate < MIB);
	figure = th_figure_read(line(&account, "malloc_direct"), "resident");
	th_assert_covers(&figure, 1500 * 65536, "direct buffers");
	assert_true(has_cause(&account, "direct-buffers"));
	pool = json_object_get(account.json, "pools");
	for (size_t i = 0; i < json_array_size(pool); i++) {
		const json_t *found = json_array_get(pool, i);

		if (strcmp(json_string_value(json_object_get(found, "name")), "direct") != 0)
			continue;
		assert_true(number(found, "count") >= 1500);
		assert_true(number(found, "used") >= 1500 * 65536);
		unload(&account);
		th_recording_deinit(&recording);
		return;
	}
	fail_msg("no pool of direct buffers");
}

/* 1,000 that a collection found in use, and 1,500 dropped since. */
static void
buffers_that_wait_for_a_collection(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;
	struct th_figure figure;

	run_java(jdk, "-XX:+UseSerialGC", "waiting", "0", &recording, &account);
	figure = th_figure_read(line(&account, "malloc_direct"), "resident");
	th_assert_covers(&figure, 2500 * 65536, "direct buffers");
	figure = th_figure_read(line(&account, "malloc_direct"), "unjudged");
	th_assert_covers(&figure, 1500 * 65536, "buffers since the collection");
	unload(&account);
	th_recording_deinit(&recording);
}

/* A thread that writes from the Java heap keeps a direct buffer of that size. */
static void
buffers_that_threads_keep(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;
	struct th_figure figure;

	run_java(jdk, "-XX:+UseSerialGC", "channels", "0", &recording, &account);
	figure = th_figure_read(line(&account, "malloc_direct"), "cached");
	th_assert_covers(&figure, 40 * 4 * MIB, "buffers that threads keep");
	assert_true(has_cause(&account, "direct-buffers"));
	assert_non_null(strstr(verdict_text(&account), "-Djdk.nio.maxCachedBufferSize"));
	unload(&account);
	th_recording_deinit(&recording);
}

/*
 * HotSpot commits metaspace in pieces that are too small to be sampled, so they are identified
 * by the reservation that contains them.  Nearly all committed memory is resident: the VM
 * writes to a piece as soon as it has it.
 */
static void
metaspace_in_small_pieces(const struct th_jdk *jdk)
{
	static const struct {
		const char *option;
		const char *settings[2];
	} runs[] = {{"-Xshare:off", {NULL}}, {"-Xshare:auto", {NULL}},
		{"-Xshare:off", {"TWINHEAP_INTERVAL=4m", NULL}}};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct th_recording recording;
		struct account account;

		run_java_with(runs[i].settings, jdk, runs[i].option, "classes", "0", &recording,
			&account);
		double committed = number(truth(&recording), "metaspace");
		double resident = resident_of(&account, "metaspace") +
				  resident_of(&account, "class_space");
		print_message(
			"metaspace: %.0f in memory of %.0f committed\n", resident, committed);
		assert_true(committed > 8 * MIB);
		assert_near(resident, committed, 0.1 * committed);
		unload(&account);
		th_recording_deinit(&recording);
	}
}

/* Every kind of allocation in the example, in both heaps. */
static void
the_mixed_example(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;

	th_recording_run_mixed(&(struct th_recording_plan){.jdk = jdk,
				       .arguments = TH_WORDS("--volume", "16M", "--seconds",
					       "1", "demo", "jni", "functions", "live")},
		&recording);
	load(&account, recording.log, "end");
	unload(&account);
	th_recording_deinit(&recording);
}

static void
deep_stacks(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;

	run_java(jdk, "-XX:+UseSerialGC", "threads", "0", &recording, &account);
	assert_true(number(account.json, "threads") >= 300);
	/* 2,000 frames of at least 48 bytes each. */
	assert_true(resident_of(&account, "thread_stacks") > 300 * 2000 * 48.0);
	unload(&account);
	th_recording_deinit(&recording);
}

static void
a_mapped_file(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct account account;

	run_java(jdk, "-XX:+UseSerialGC", "file", "0", &recording, &account);
	assert_true(resident_of(&account, "files") > 64 * MIB);
	unload(&account);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct CMUnitTest native[] = {
		cmocka_unit_test(free_memory_that_malloc_keeps),
		cmocka_unit_test(what_a_trim_gives_back),
		cmocka_unit_test(what_a_trim_gives_back_of_dense_heaps),
		cmocka_unit_test(blocks_in_use),
		cmocka_unit_test(blocks_that_are_not_touched),
		cmocka_unit_test(a_file_that_is_read),
		cmocka_unit_test(another_allocator_underneath),
		cmocka_unit_test(neighbours_of_blocks),
		cmocka_unit_test(a_process_from_outside),
		cmocka_unit_test(files_that_are_hardly_used),
		cmocka_unit_test(a_peak_that_has_passed),
		cmocka_unit_test(a_process_of_run),
		cmocka_unit_test(nobody_took_one),
		cmocka_unit_test(nobody_may_take_one),
		cmocka_unit_test(what_fewer_arenas_save),
		cmocka_unit_test(what_jemalloc_gives_back),
	};
	static const struct th_jdk_test tests[] = {
		{"an idle VM", an_idle_vm, 0},
		{"the code cache", the_code_cache, 0},
		{"a Java heap", a_java_heap, 0},
		{"a VM of run", a_vm_of_run, 0},
		{"Deflaters without end", deflaters_without_end, 0},
		{"direct buffers", direct_buffers, 0},
		{"buffers that wait", buffers_that_wait_for_a_collection, 0},
		{"buffers that threads keep", buffers_that_threads_keep, 0},
		{"the mixed example", the_mixed_example, 0},
		{"deep stacks", deep_stacks, 0},
		{"a mapped file", a_mapped_file, 0},
		{"metaspace in small pieces", metaspace_in_small_pieces, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests(native, NULL, NULL);

	return th_jdk_run_tests("rss", tests) + failed;
}
