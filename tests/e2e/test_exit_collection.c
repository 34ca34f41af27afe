/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collection at exit of `twinheap run`: a leak in the Java heap is found by default options
 * although only young collections ran, however the program ends, and a clean program is judged.
 * Nothing is collected without the tool, or if it is told not to.
 *
 * The programs of one JDK run at the same time: they sleep most of it.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
/* More than the least recording that is judged by a collection at exit (full_collection.c). */
#define SECONDS "8"
/* Under generational Z few objects are followed. */
#define SECONDS_OF_FEW "20"
/*
 * For how long a leak is recorded, in seconds: again, and for longer, if it was below the detection
 * limit, as on a busy machine, where fewer samples keep the budget.
 */
static const char *const attempts[] = {SECONDS, "16", "24"};
/* Z has generations by option only in this release, and always from FIRST_GENERATIONAL on. */
#define WITH_GENERATIONS_BY_OPTION 21
#define FIRST_GENERATIONAL 24
/* Later a collection waits for the end of JNI critical sections. */
#define LAST_WITH_LOCKER 17
#define NO_MODE "-Xshare:auto"
/* What survives one young collection is old: the entries of a cache become garbage there. */
#define OLD_AT_ONCE "-XX:MaxTenuringThreshold=0"
/*
 * A concurrent cycle before the end takes all that is young for alive: so few young collections make
 * nothing old.
 */
#define ROOMY "-XX:+ExplicitGCInvokesConcurrent -Xmn100m"

struct run {
	const char *collector;
	const char *mode;
	const char *way; /* of the program to end */
	const char *kind;
	const char *option; /* of the tool, or "preload" without it */
	int status;
	char *log;
};

/* Starts all runs, and waits for them. */
static void
record(const struct th_jdk *jdk, const char *seconds, struct run *runs, size_t count)
{
	static const char script[] =
		"tool=$1 library=$2 java=$3 jar=$4 seconds=$5; shift 5\n"
		"while [ $# -gt 0 ]; do (\n"
		"	case $6 in\n"
		"	preload) run='env LD_PRELOAD='$library' TWINHEAP_OUTPUT='$1 ;;\n"
		"	*) run=\"$tool run -q -o $1 $6 --\" ;;\n"
		"	esac\n"
		"	$run $java -Xmx256m -XX:+UnlockExperimentalVMOptions $2 $3 -cp $jar "
		"\\\n"
		"		Sessions $4 $5 $seconds\n"
		"	echo $? >$1.status\n"
		") & shift 6; done; wait\n";
	const char *directory = th_temporary_directory();
	const char *words[9 + 6 * 8 + 1] = {
		"sh", "-c", script, "sh", TH_TOOL, TH_LIBRARY, jdk->java, JAR, seconds};
	size_t used = 9;

	assert_true(count <= 8);
	for (size_t i = 0; i < count; i++) {
		struct run *run = &runs[i];

		free(run->log);
		run->log = th_format("%s/%zu.thl", directory, i);
		words[used++] = run->log;
		words[used++] = run->collector;
		words[used++] = run->mode;
		words[used++] = run->way;
		words[used++] = run->kind;
		words[used++] = run->option;
	}
	free(th_command_output(words));
	for (size_t i = 0; i < count; i++) {
		char *status = th_command_output(
			TH_WORDS("sh", "-c", "cat \"$0\".status", runs[i].log));

		assert_int_equal(atoi(status), runs[i].status);
		free(status);
	}
}

static size_t
collections_at_exit(const char *log)
{
	struct th_dump dump;
	size_t count = 0;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "control"))
		count += th_dump_has_text(&dump, "name", "gc at exit");
	th_dump_deinit(&dump);
	return count;
}

static size_t
forced_collections(const char *log)
{
	struct th_dump dump;
	size_t count = 0;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "collection"))
		count += strstr(dump.line, "ForceGarbageCollection") != NULL;
	th_dump_deinit(&dump);
	return count;
}

static char *
first_lines(const char *log)
{
	return th_command_output(TH_WORDS("sh", "-c", "\"$0\" leaks \"$1\"", TH_TOOL, log));
}

/* The first finding is the leak, at its line. */
static bool
finds_leak(const struct run *run)
{
	char *text = first_lines(run->log);
	const char *leak = strstr(
		text, "\nleak     Java, byte[] in Sessions.remember (Sessions.java:");
	bool found = !strncmp(text, "1 leak", 6) && leak &&
		     strstr(text, ", a full GC at exit; ");

	if (!found)
		print_message("%s %s %s:\n%s", run->collector, run->mode, run->way, text);
	free(text);
	return found;
}

static void
check_leak(const struct run *run)
{
	assert_int_equal(collections_at_exit(run->log), 1);
	if (strcmp(run->way, "hook") != 0)
		return;
	char *text = first_lines(run->log);
	assert_non_null(
		strstr(text, "before the full GC at exit, which the recording requested"));
	free(text);
}

static void
runs_deinit(struct run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(runs[i].log);
}

static void
found(const struct th_jdk *jdk)
{
	struct run runs[] = {
		{"-XX:+UseG1GC", NO_MODE, "hook", "leak", "", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "exit", "leak", "", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "return", "leak", "", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "thread", "leak", "", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "threads", "leak", "", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "signal", "leak", "", 128 + 15, NULL},
		{"-XX:+UseG1GC", ROOMY, "gc", "leak", "", 0, NULL},
		{"-XX:+UseParallelGC", NO_MODE, "hook", "leak", "", 0, NULL},
	};
	size_t left = sizeof(runs) / sizeof(runs[0]);

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]) && left > 0; i++) {
		size_t missed = 0;

		record(jdk, attempts[i], runs, left);
		for (size_t k = 0; k < left; k++) {
			if (finds_leak(&runs[k])) {
				check_leak(&runs[k]);
				continue;
			}
			struct run run = runs[missed];
			runs[missed++] = runs[k];
			runs[k] = run;
		}
		left = missed;
	}
	assert_int_equal(left, 0);
	runs_deinit(runs, sizeof(runs) / sizeof(runs[0]));
}

/* Under generational Z few objects are followed: they are judged, however small their number. */
static void
check_judged(const struct run *run)
{
	char *text = first_lines(run->log);
	bool is_at_exit = strstr(text, ", a full GC at exit; ") != NULL;
	bool is_judged = strstr(text, ", the last old-generation GC; ") != NULL;

	if (!is_at_exit && !is_judged)
		print_message("%s", text);
	assert_true(is_at_exit || is_judged);
	assert_int_equal(collections_at_exit(run->log), is_at_exit);
	free(text);
}

static void
generational_z(const struct th_jdk *jdk)
{
	const char *mode = jdk->feature == WITH_GENERATIONS_BY_OPTION ? "-XX:+ZGenerational"
								      : NO_MODE;
	struct run runs[] = {
		{"-XX:+UseZGC", mode, "hook", "leak", "", 0, NULL},
		{"-XX:+UseZGC", mode, "signal", "leak", "", 128 + 15, NULL},
		{"-XX:+UseZGC", mode, "return", "clean", "", 0, NULL},
	};
	const size_t count = sizeof(runs) / sizeof(runs[0]);

	if (jdk->feature != WITH_GENERATIONS_BY_OPTION && jdk->feature < FIRST_GENERATIONAL) {
		print_message("skipped: no generations\n");
		return;
	}
	record(jdk, SECONDS_OF_FEW, runs, count);
	for (size_t i = 0; i < count; i++)
		check_judged(&runs[i]);
	runs_deinit(runs, count);
}

static void
clean(const struct th_jdk *jdk)
{
	struct run runs[] = {
		{"-XX:+UseG1GC", NO_MODE, "exit", "clean", "", 0, NULL},
		{"-XX:+UseG1GC", OLD_AT_ONCE, "signal", "clean", "", 128 + 15, NULL},
		{"-XX:+UseParallelGC", OLD_AT_ONCE, "signal", "clean", "", 128 + 15, NULL},
		{"-XX:+UseG1GC", NO_MODE, "exit", "leak", "--gc-at-exit never", 0, NULL},
		{"-XX:+UseG1GC", NO_MODE, "hook", "leak", "preload", 0, NULL},
	};
	const size_t count = sizeof(runs) / sizeof(runs[0]);

	record(jdk, SECONDS, runs, count);
	for (size_t i = 0; i < count; i++) {
		bool collects = !*runs[i].option;
		char *status = th_command_output(TH_WORDS("sh", "-c",
			"\"$0\" leaks --fail-on leak \"$1\" >\"$1\".txt; echo $?; cat "
			"\"$1\".txt",
			TH_TOOL, runs[i].log));

		if (collects && atoi(status) != 0)
			print_message("%s\n", status);
		if (collects)
			assert_int_equal(atoi(status), 0);
		assert_int_equal(collections_at_exit(runs[i].log), collects);
		assert_int_equal(forced_collections(runs[i].log) > 0, collects);
		free(status);
	}
	runs_deinit(runs, count);
}

/* Runtime.halt() ends at once, although a collection is to be made in any case. */
static void
not_at_halt(const struct th_jdk *jdk)
{
	struct run runs[] = {
		{"-XX:+UseSerialGC", NO_MODE, "exit", "clean", "--gc-at-exit=always", 0, NULL},
		{"-XX:+UseSerialGC", NO_MODE, "halt", "clean", "--gc-at-exit=always", 0, NULL},
		{"-XX:+UseSerialGC", NO_MODE, "impostor", "clean", "--gc-at-exit=always", 0,
			NULL},
	};

	record(jdk, "0.5", runs, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(collections_at_exit(runs[i].log), i == 0);
		assert_int_equal(forced_collections(runs[i].log) > 0, i == 0);
	}
	runs_deinit(runs, 3);
}

/*
 * The collection does not succeed, as a thread is in a JNI critical section, and is tried again for a
 * second, which a note says; a second signal ends it without one.
 */
static void
not_after_a_second_signal(const struct th_jdk *jdk)
{
	char *log = th_format("%s/signals.thl", th_temporary_directory());

	if (jdk->feature > LAST_WITH_LOCKER) {
		print_message("skipped: the VM waits for critical sections\n");
		free(log);
		return;
	}
	for (int times = 1; times <= 2; times++) {
		char *number = th_format("%d", times);
		char *output = th_command_output(TH_WORDS("sh", "-c",
			"\"$0\" run -q -o \"$1\" --gc-at-exit=always -- \"$2\" -Xmx64m "
			"-XX:+UseSerialGC -Djava.library.path=\"$3\" -cp \"$4\" Aged signals "
			"$5; echo $?; \"$0\" dump \"$1\"",
			TH_TOOL, log, jdk->java, TH_TEST_BUILD "/tests/programs", JAR, number));

		assert_int_equal(atoi(output), 128 + 15);
		assert_int_equal(
			strstr(output, "did not run a requested full") != NULL, times == 1);
		free(output);
		free(number);
		assert_int_equal(remove(log), 0);
	}
	free(log);
}

int
main(void)
{
	static const struct th_jdk_test tests[] = {
		{"leaks are found", found, 0},
		{"generational Z", generational_z, 0},
		{"not at halt", not_at_halt, 0},
		{"not after a second signal", not_after_a_second_signal, 0},
		{"clean programs, and none without the tool", clean, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("exit_collection", tests);
}
