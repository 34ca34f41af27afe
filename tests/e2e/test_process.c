/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One log per process that should have one, and no process writes into another's: fork, vfork,
 * exec, posix_spawn, daemons, shells, and children of a process in the middle of captures.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define CHILDREN TH_TEST_BUILD "/tests/programs/process_children"
#define SITES TH_TEST_BUILD "/tests/programs/native_sites"
#define LOGS_MAX 64

struct run {
	struct th_outcome outcome;
	const char *directory;
	size_t count;
	char *logs[LOGS_MAX]; /* sorted by name */
};

/* Helpers */

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
find_logs(struct run *run)
{
	DIR *directory = opendir(run->directory);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".thl") != 0)
			continue;
		assert_true(run->count < LOGS_MAX);
		run->logs[run->count++] = th_format("%s/%s", run->directory, entry->d_name);
	}
	closedir(directory);
	qsort(run->logs, run->count, sizeof(run->logs[0]), compare);
}

/* Records at interval 0; the log has its default name unless `settings` specify another. */
static void
run_with(const char *const *command, const char *const *settings, struct run *ret)
{
	const char *environment[8] = {"LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_INTERVAL=0"};
	size_t count = 2;

	memset(ret, 0, sizeof(*ret));
	ret->directory = th_temporary_directory();
	for (; settings && *settings; settings++)
		environment[count++] = *settings;
	th_command_check(
		&(struct th_command){
			.arguments = command,
			.environment = environment,
			.directory = ret->directory,
		},
		&ret->outcome);
	assert_string_equal(ret->outcome.errors, "");
	find_logs(ret);
}

static void
run(const char *const *command, struct run *ret)
{
	run_with(command, NULL, ret);
}

/* Started by the tool, which identifies the process of the command. */
static void
run_by_tool(const char *const *command, struct run *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->directory = th_temporary_directory();
	th_command_check(
		&(struct th_command){.arguments = command, .directory = ret->directory},
		&ret->outcome);
	assert_string_equal(ret->outcome.errors, "");
	find_logs(ret);
}

static void
run_deinit(struct run *run)
{
	th_outcome_deinit(&run->outcome);
	for (size_t i = 0; i < run->count; i++)
		free(run->logs[i]);
}

static double
objects_of(const char *log, const char *site)
{
	struct th_recording recording = {.log = (char *)log};
	struct th_figure figure;

	th_recording_load(&recording);
	figure = th_recording_sum(
		&recording, &(struct th_stack_filter){.frame = site}, "alloc_objects");
	json_decref(recording.report);
	return figure.estimate;
}

static void
assert_healthy(const char *log, bool is_complete)
{
	struct th_dump dump;

	th_dump_init(&dump, log);
	assert_int_equal(th_dump_torn(&dump), 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	assert_int_equal(th_dump_is_complete(&dump), is_complete);
	assert_int_equal(th_dump_counter(&dump, "dropped_log_full"), 0);
	assert_int_equal(th_dump_count(&dump, "process"), 1);
	th_dump_deinit(&dump);
}

/* The only log is that of process_children itself, and contains nothing of a child. */
static void
check_parent_alone(const struct run *run)
{
	assert_int_equal(run->count, 1);
	assert_healthy(run->logs[0], true);
	assert_true(objects_of(run->logs[0], "parent_site") == 2000);
	assert_true(objects_of(run->logs[0], "child_site") == 0);
}

/* Whether the process of a log ran native_sites. */
static bool
is_log_of_sites(const char *log)
{
	struct th_dump dump;
	bool is_it;

	th_dump_init(&dump, log);
	assert_true(th_dump_next(&dump, "process"));
	is_it = th_dump_has_text(&dump, "executable", SITES);
	th_dump_deinit(&dump);
	return is_it;
}

/* Fork */

static void
forked_child_leaves_nothing(void **state)
{
	static const char *const ways[] = {"fork", "_exit"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct run result;

		run(TH_WORDS(CHILDREN, ways[i]), &result);
		check_parent_alone(&result);
		run_deinit(&result);
	}
}

/* The child's log is self-contained: it includes modules, threads and stacks. */
static void
forked_child_has_its_own_log_when_all_are_followed(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "fork"), TH_WORDS("TWINHEAP_FOLLOW=all"), &result);
	assert_int_equal(result.count, 2);
	int child = objects_of(result.logs[0], "child_site") > 0 ? 0 : 1;
	assert_true(objects_of(result.logs[child], "child_site") == 5000);
	assert_true(objects_of(result.logs[child], "parent_site") == 0);
	assert_true(objects_of(result.logs[1 - child], "child_site") == 0);
	assert_true(objects_of(result.logs[1 - child], "parent_site") == 2000);
	assert_healthy(result.logs[0], true);
	assert_healthy(result.logs[1], true);
	run_deinit(&result);
}

/* The settings at the start of the process stay in effect, even if its environment changes. */
static void
settings_outlive_the_environment(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "retitle"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_OUTPUT=log.%p.thl"), &result);
	assert_int_equal(result.count, 2);
	assert_true(objects_of(result.logs[0], "child_site") +
			    objects_of(result.logs[1], "child_site") ==
		    5000);
	run_deinit(&result);
}

/* Two processes, one name: the second one's pid is inserted before the extension. */
static void
a_name_that_is_taken_gets_the_pid(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "fork"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_OUTPUT=log.thl"), &result);
	assert_int_equal(result.count, 2);
	assert_true(strstr(result.logs[1], "/log.thl") != NULL);
	assert_true(strstr(result.logs[0], "/log.") != NULL);
	assert_true(objects_of(result.logs[1], "parent_site") == 2000);
	assert_true(objects_of(result.logs[0], "child_site") == 5000);
	run_deinit(&result);
}

/* Children of a process that is in the middle of captures on other threads. */
static void
fork_storm(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS(CHILDREN, "storm", "300"), &result);
	assert_int_equal(result.count, 1);
	assert_healthy(result.logs[0], true);
	assert_true(objects_of(result.logs[0], "storm_site") > 0);
	assert_true(objects_of(result.logs[0], "child_site") == 0);
	run_deinit(&result);
}

static void
fork_storm_with_logs(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "storm", "15"), TH_WORDS("TWINHEAP_FOLLOW=all"), &result);
	assert_int_equal(result.count, 16);
	for (size_t i = 0; i < result.count; i++) {
		assert_healthy(result.logs[i], true);
		if (objects_of(result.logs[i], "storm_site") == 0)
			assert_true(objects_of(result.logs[i], "child_site") == 100);
	}
	run_deinit(&result);
}

/* Children without a sample */

/* Whatever way they end.  At this interval a child has a sample once in a million. */
static void
children_without_a_sample_leave_nothing(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "many", "30", "1000"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_INTERVAL=1G"), &result);
	assert_int_equal(result.count, 1);
	run_deinit(&result);
	run_with(TH_WORDS("sh", "-c", "for i in 1 2 3 4 5; do sh -c ':'; /bin/true; done"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_INTERVAL=1G"), &result);
	assert_int_equal(result.count, 1);
	run_deinit(&result);
}

/*
 * Whether a child has a sample is random, and independent of other children: of 60 that
 * allocate 0.69 intervals, half leave a log, 30 +- 3.9; 25 is 6.4 of these deviations.
 */
static void
a_childs_first_sample_is_drawn(void **state)
{
	struct run result;
	size_t begun = 0;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "many", "60", "45426"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_INTERVAL=64k"), &result);
	for (size_t i = 0; i < result.count; i++)
		begun += objects_of(result.logs[i], "child_site") > 0;
	assert_int_equal(begun, result.count - 1);
	assert_in_range(begun, 5, 55);
	run_deinit(&result);
}

/* 64 MiB, which one sample per 512 KiB cannot miss. */
static void
a_child_that_only_maps_has_its_log(void **state)
{
	struct run result;
	double mapped = 0;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "mapped", "67108864"),
		TH_WORDS("TWINHEAP_FOLLOW=all", "TWINHEAP_INTERVAL=512k",
			"TWINHEAP_HEAPS=native,mapped"),
		&result);
	assert_int_equal(result.count, 2);
	for (size_t i = 0; i < result.count; i++) {
		struct th_dump dump;

		th_dump_init(&dump, result.logs[i]);
		mapped += th_dump_counter(&dump, "mapped_samples");
		th_dump_deinit(&dump);
	}
	assert_true(mapped >= 1);
	run_deinit(&result);
}

/* Without fork handlers */

/* The exact bytes of process_children with only that child. */
static double
exact_bytes_with(const char *way, const char *interval)
{
	struct th_recording recording = {0};
	struct th_figure total;
	struct run result;

	run_with(TH_WORDS(CHILDREN, way), TH_WORDS(interval), &result);
	assert_int_equal(result.count, 1);
	assert_healthy(result.logs[0], true);
	recording.log = result.logs[0];
	th_recording_load(&recording);
	total = th_recording_total(&recording, "native", "alloc_bytes");
	assert_true(total.exact);
	json_decref(recording.report);
	run_deinit(&result);
	return total.estimate;
}

/*
 * Nothing of the child is in the parent's log, neither from the child's exit nor from the end
 * of its threads.
 */
static void
child_by_the_system_call(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS(CHILDREN, "bare"), &result);
	check_parent_alone(&result);
	run_deinit(&result);
	assert_true(exact_bytes_with("bare", "TWINHEAP_INTERVAL=0") ==
		    exact_bytes_with("fork", "TWINHEAP_INTERVAL=0"));
	assert_true(exact_bytes_with("bare", "TWINHEAP_INTERVAL=1k") ==
		    exact_bytes_with("fork", "TWINHEAP_INTERVAL=1k"));
}

/* It allocates from the parent's own heap, and is recorded like a thread of the parent. */
static void
child_in_the_parent_s_memory(void **state)
{
	static const char *const ways[] = {"vfork", "clone"};
	const double bytes = 5000 * 100;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct run result;

		run(TH_WORDS(CHILDREN, ways[i]), &result);
		assert_int_equal(result.count, 1);
		assert_healthy(result.logs[0], true);
		assert_true(objects_of(result.logs[0], "parent_site") == 2000);
		assert_true(objects_of(result.logs[0], "child_site") == 5000);
		/* Its _exit() is not the parent's. */
		char *dump = th_command_output(TH_WORDS(TH_TOOL, "dump", result.logs[0]));
		assert_non_null(strstr(dump, " cause=4"));
		assert_null(strstr(dump, " cause=8"));
		free(dump);
		run_deinit(&result);
		assert_true(exact_bytes_with(ways[i], "TWINHEAP_INTERVAL=0") ==
			    exact_bytes_with("fork", "TWINHEAP_INTERVAL=0") + bytes);
		assert_true(exact_bytes_with(ways[i], "TWINHEAP_INTERVAL=1k") ==
			    exact_bytes_with("fork", "TWINHEAP_INTERVAL=1k") + bytes);
	}
}

/* Other programs */

static void
other_programs_leave_nothing(void **state)
{
	static const char *const ways[] = {"exec", "vfork", "spawn"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run result;

		run(TH_WORDS(CHILDREN, ways[i], SITES, "100000"), &result);
		assert_non_null(strstr(result.outcome.output, "\"site_16\""));
		check_parent_alone(&result);
		run_deinit(&result);
	}
}

static void
other_programs_have_logs_when_all_are_followed(void **state)
{
	static const char *const ways[] = {"exec", "vfork", "spawn"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run result;

		run_with(TH_WORDS(CHILDREN, ways[i], SITES, "100000"),
			TH_WORDS("TWINHEAP_FOLLOW=all"), &result);
		assert_int_equal(result.count, 2);
		int sites = is_log_of_sites(result.logs[0]) ? 0 : 1;
		assert_true(objects_of(result.logs[sites], "site_16") == 6250);
		assert_true(objects_of(result.logs[1 - sites], "parent_site") == 2000);
		assert_healthy(result.logs[0], true);
		assert_healthy(result.logs[1], true);
		run_deinit(&result);
	}
}

/* A shell that execs the program leaves one log, the program's. */
static void
shell_that_becomes_the_program(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS("sh", "-c", "exec " SITES " 100000"), &result);
	assert_int_equal(result.count, 1);
	assert_true(is_log_of_sites(result.logs[0]));
	assert_true(objects_of(result.logs[0], "site_16") == 6250);
	assert_healthy(result.logs[0], true);
	run_deinit(&result);
}

/*
 * A shell that waits for the program is the command itself; only a Java VM would be followed.
 */
static void
shell_that_waits(void **state)
{
	static const char *const follow[] = {"java", "none"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *setting = th_format("TWINHEAP_FOLLOW=%s", follow[i]);
		struct run result;

		run_with(TH_WORDS("sh", "-c", SITES " 100000; true"), TH_WORDS(setting),
			&result);
		assert_int_equal(result.count, 1);
		assert_false(is_log_of_sites(result.logs[0]));
		run_deinit(&result);
		free(setting);
	}
}

static void
shell_that_waits_with_all_followed(void **state)
{
	struct run result;

	(void)state;
	run_with(TH_WORDS("sh", "-c", SITES " 100000; true"), TH_WORDS("TWINHEAP_FOLLOW=all"),
		&result);
	assert_int_equal(result.count, 2);
	assert_true(is_log_of_sites(result.logs[0]) != is_log_of_sites(result.logs[1]));
	run_deinit(&result);
}

/* Each image replaces the log of the previous one. */
static void
chain_of_exec(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS(CHILDREN, "self", "4"), &result);
	assert_int_equal(result.count, 1);
	assert_healthy(result.logs[0], true);
	assert_true(objects_of(result.logs[0], "child_site") == 5000);
	assert_true(objects_of(result.logs[0], "parent_site") == 2000);
	run_deinit(&result);
}

/* Its parent has ended, but `run` has identified the process of the command. */
static void
orphan_is_not_taken_for_the_command(void **state)
{
	struct run result;

	(void)state;
	run_by_tool(TH_WORDS(TH_TOOL, "run", "-q", "-i", "0", "--", CHILDREN, "orphan", SITES,
			    "100000"),
		&result);
	assert_non_null(strstr(result.outcome.output, "\"site_16\""));
	assert_int_equal(result.count, 1);
	assert_true(objects_of(result.logs[0], "parent_site") == 1000);
	run_deinit(&result);
}

/* After exec, the command is still the command. */
static void
command_of_the_tool_is_recorded_through_exec(void **state)
{
	struct run result;

	(void)state;
	run_by_tool(TH_WORDS(TH_TOOL, "run", "-q", "-i", "0", "--", "sh", "-c",
			    "exec env A=1 " SITES " 100000"),
		&result);
	assert_int_equal(result.count, 1);
	assert_true(is_log_of_sites(result.logs[0]));
	run_deinit(&result);
}

/* What `run` prints after a command with two children that allocate 35 MiB each. */
static char *
errors_with_children(const char *follow)
{
	struct th_outcome outcome;

	th_command_check(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "--follow",
						      follow, "--", "sh", "-c",
						      "(true; true); " SITES " 4000000; " SITES
						      " 4000000; true"),
				 .directory = th_temporary_directory()},
		&outcome);
	char *errors = strdup(outcome.errors);
	th_outcome_deinit(&outcome);
	return errors;
}

static void
run_says_what_it_did_not_record(void **state)
{
	char *java = errors_with_children("java");
	char *all = errors_with_children("all");
	char *none = errors_with_children("none");

	(void)state;
	assert_non_null(
		strstr(java, "\ntwinheap: 2 more processes of the command allocated some MiB "
			     "and were not recorded: --follow all\n"));
	assert_null(strstr(all, "not recorded"));
	assert_null(strstr(none, "not recorded"));
	free(java);
	free(all);
	free(none);
}

static void
pipeline_of_a_shell(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS("sh", "-c", "seq 1000 | sort -n | (read a; cat; echo $a) | tail -1"),
		&result);
	assert_string_equal(result.outcome.output, "1\n");
	assert_int_equal(result.count, 1);
	run_deinit(&result);
}

/* Daemons */

/* The original ends by _exit(), so its log is incomplete; the daemon is another process. */
static void
daemon_leaves_nothing(void **state)
{
	struct run result;

	(void)state;
	run(TH_WORDS(CHILDREN, "daemon"), &result);
	assert_string_equal(result.outcome.output, "done\n");
	assert_int_equal(result.count, 1);
	assert_true(objects_of(result.logs[0], "parent_site") == 1000);
	assert_true(objects_of(result.logs[0], "child_site") == 0);
	assert_healthy(result.logs[0], false);
	run_deinit(&result);
}

/* It closes every descriptor, including ours, and is recorded to its end. */
static void
daemon_has_its_log_when_all_are_followed(void **state)
{
	struct run result;
	double objects = 0;

	(void)state;
	run_with(TH_WORDS(CHILDREN, "daemon"), TH_WORDS("TWINHEAP_FOLLOW=all"), &result);
	assert_string_equal(result.outcome.output, "done\n");
	assert_int_equal(result.count, 2);
	for (size_t i = 0; i < result.count; i++)
		objects += objects_of(result.logs[i], "child_site");
	assert_true(objects == 5000);
	run_deinit(&result);
}

/* Effects visible to the program */

/* The output of `command`, recorded or not, always in the same directory; to be freed. */
static char *
output_of(const char *const *command, bool is_recorded)
{
	static const char *directory;

	const char *preload = is_recorded ? "LD_PRELOAD=" TH_LIBRARY : "LD_PRELOAD";
	struct th_outcome outcome;

	if (!directory)
		directory = th_temporary_directory();
	th_command_check(
		&(struct th_command){
			.arguments = command,
			.environment = TH_WORDS("TWINHEAP_INTERVAL=0", preload),
			.directory = directory,
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	free(outcome.errors);
	return outcome.output;
}

static void
check_same(const char *const *command)
{
	char *plain = output_of(command, false);
	char *recorded = output_of(command, true);

	assert_string_not_equal(plain, "");
	assert_string_equal(recorded, plain);
	free(plain);
	free(recorded);
}

/* The only difference is LD_PRELOAD, which is unchanged. */
static void
environment_is_not_changed(void **state)
{
	(void)state;
	check_same(TH_WORDS("env", "-u", "LD_PRELOAD", "env"));
	check_same(TH_WORDS("sh", "-c", "unset LD_PRELOAD; env | sort"));
	char *text = output_of(TH_WORDS("printenv", "LD_PRELOAD"), true);
	assert_string_equal(text, TH_LIBRARY "\n");
	free(text);
}

/*
 * Signal masks and handlers, number of threads, limits, timers: a process without a Java VM.  Not
 * SigQ, which counts those queued to all processes of the user.
 */
static void
state_of_the_process_is_not_changed(void **state)
{
	(void)state;
	check_same(TH_WORDS("grep", "-E", "^(Sig[PBIC]|Shd|Threads|Umask|Seccomp|NoNewPrivs)",
		"/proc/self/status"));
	check_same(TH_WORDS("cat", "/proc/self/limits", "/proc/self/timerslack_ns",
		"/proc/self/oom_score_adj", "/proc/self/coredump_filter"));
}

/* Descriptors 0 to 511 are unchanged. */
static void
descriptors_are_not_changed(void **state)
{
	(void)state;
	check_same(TH_WORDS("sh", "-c", "cd /proc/self/fd; echo ? ?? [1-4]??"));
}

/* Page faults of a program that does nothing, as the child of a recorded process; the fewest of ten runs. */
static long
faults_of_a_small_child(const char *preload)
{
	long fewest = 0;

	for (int i = 0; i < 10; i++) {
		char *const command[] = {"true", NULL};
		char *const environment[] = {
			(char *)(uintptr_t)preload, "TWINHEAP_ROOT=1", NULL};
		struct rusage usage;
		int status;
		pid_t child = fork();

		if (!child) {
			execve("/bin/true", command, environment);
			_exit(127);
		}
		assert_int_equal(wait4(child, &status, 0, &usage), child);
		assert_int_equal(status, 0);
		if (!i || usage.ru_minflt < fewest)
			fewest = usage.ru_minflt;
	}
	return fewest;
}

/*
 * Programs start many small children. 30 faults were measured, 6 with a library that only forwards
 * calls, and 45 with ours when it searched the symbols of libc and set up the unwinder.
 */
static void
small_child_starts_fast(void **state)
{
	long plain = faults_of_a_small_child("LD_PRELOAD=");
	long recorded = faults_of_a_small_child("LD_PRELOAD=" TH_LIBRARY);

	(void)state;
	assert_in_range(recorded - plain, 0, 38);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_child_leaves_nothing),
		cmocka_unit_test(forked_child_has_its_own_log_when_all_are_followed),
		cmocka_unit_test(settings_outlive_the_environment),
		cmocka_unit_test(a_name_that_is_taken_gets_the_pid),
		cmocka_unit_test(fork_storm),
		cmocka_unit_test(fork_storm_with_logs),
		cmocka_unit_test(children_without_a_sample_leave_nothing),
		cmocka_unit_test(a_childs_first_sample_is_drawn),
		cmocka_unit_test(a_child_that_only_maps_has_its_log),
		cmocka_unit_test(child_by_the_system_call),
		cmocka_unit_test(child_in_the_parent_s_memory),
		cmocka_unit_test(other_programs_leave_nothing),
		cmocka_unit_test(other_programs_have_logs_when_all_are_followed),
		cmocka_unit_test(shell_that_becomes_the_program),
		cmocka_unit_test(shell_that_waits),
		cmocka_unit_test(shell_that_waits_with_all_followed),
		cmocka_unit_test(chain_of_exec),
		cmocka_unit_test(orphan_is_not_taken_for_the_command),
		cmocka_unit_test(command_of_the_tool_is_recorded_through_exec),
		cmocka_unit_test(run_says_what_it_did_not_record),
		cmocka_unit_test(pipeline_of_a_shell),
		cmocka_unit_test(daemon_leaves_nothing),
		cmocka_unit_test(daemon_has_its_log_when_all_are_followed),
		cmocka_unit_test(environment_is_not_changed),
		cmocka_unit_test(state_of_the_process_is_not_changed),
		cmocka_unit_test(descriptors_are_not_changed),
		cmocka_unit_test(small_child_starts_fast),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
