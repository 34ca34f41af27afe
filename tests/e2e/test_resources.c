/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing or exhausted resources: disk, quota, /proc, /tmp, a directory for the log, memory.
 * The program behaves as without the library, and the log up to then is readable.  File systems
 * are set up in a mount namespace, which requires root; otherwise skipped tests are listed.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/dump.h"

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name
#define SITES PROGRAM("native_sites")
#define PROGRAMS_JAR PROGRAM("programs.jar")
/* 70 MB: some 60,000 allocations, 6 MiB of log at interval 0. */
#define SITES_COUNT "700000"
#define MIB (1 << 20)
#define LEAVE_STATUS 7
#define MEMORY_LIMIT (96 * MIB)

/* Helpers */

static void
assert_one_line(const char *errors, const char *part)
{
	const char *end = strchr(errors, '\n');

	if (strncmp(errors, "twinheap: ", 10) != 0 || !end || end[1] != '\0' ||
		!strstr(errors, part))
		fail_msg("expected one line about \"%s\", got: %s", part, errors);
}

/* Whether this test may have its own mounts; skips it otherwise. */
static void
need_namespace(void)
{
	struct th_outcome outcome;
	bool may;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS("unshare", "--mount", "true")},
		&outcome);
	may = outcome.status == 0;
	th_outcome_deinit(&outcome);
	if (may)
		return;
	print_message("no mount namespace to be had: left out\n");
	skip();
}

/* Runs a shell script in a directory, with its own mounts. */
static void
run_in_namespace(const char *script, const char *directory, struct th_outcome *ret)
{
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("unshare", "--mount", "sh", "-c", script),
			.directory = directory,
		},
		ret);
	assert_false(ret->timed_out);
}

/* The output of native_sites without the library. */
static char *
plain_output(void)
{
	return th_command_output(TH_WORDS(SITES, SITES_COUNT));
}

/* The log of a recording that ended early for lack of space. */
static void
check_log_is_cut(const char *log)
{
	char *summary = th_command_output(TH_WORDS(TH_TOOL, "summary", log));
	struct th_dump dump;

	assert_non_null(strstr(summary, "no space for the log"));
	th_dump_init(&dump, log);
	assert_true(th_dump_counter(&dump, "dropped_no_space") > 0);
	assert_true(th_dump_count(&dump, "native_alloc") > 0);
	assert_int_equal(th_dump_torn(&dump), 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	th_dump_deinit(&dump);
	free(summary);
}

/* Disk */

/* Records on a file system of that many bytes, and copies the log from it afterwards. */
static void
record_on_small_disk(
	const char *bytes, const char *command, struct th_outcome *ret, char **log_ret)
{
	const char *directory = th_temporary_directory();
	char *script = th_format("mkdir disk && mount -t tmpfs -o size=%s none disk && "
				 "{ env LD_PRELOAD=" TH_LIBRARY " TWINHEAP_INTERVAL=0 "
				 "TWINHEAP_OUTPUT=$PWD/disk/log.thl %s; status=$?; "
				 "cp disk/log.thl . 2>/dev/null; exit $status; }",
		bytes, command);

	run_in_namespace(script, directory, ret);
	*log_ret = th_format("%s/log.thl", directory);
	free(script);
}

/* The disk fills up while the log grows: no SIGBUS, and no error visible to the program. */
static void
disk_that_fills_up(void **state)
{
	char *plain = plain_output();
	struct th_outcome outcome;
	char *log;

	(void)state;
	need_namespace();
	record_on_small_disk("3m", SITES " " SITES_COUNT, &outcome, &log);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.output, plain);
	assert_string_equal(outcome.errors, "");
	check_log_is_cut(log);
	th_outcome_deinit(&outcome);
	free(log);
	free(plain);
}

static void
disk_that_is_full(void **state)
{
	char *plain = plain_output();
	struct th_outcome outcome;
	char *log;

	(void)state;
	need_namespace();
	record_on_small_disk("64k", SITES " " SITES_COUNT, &outcome, &log);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.output, plain);
	assert_one_line(outcome.errors, "no space for a log");
	/* No partial file is left. */
	assert_int_equal(access(log, F_OK), -1);
	th_outcome_deinit(&outcome);
	free(log);
	free(plain);
}

/* The VM continues and ends normally on a disk that its log has filled. */
static void
disk_that_fills_up_under_java(const struct th_jdk *jdk)
{
	char *command = th_format(
		"%s -Xmx64m -cp " PROGRAMS_JAR " Leave exit 30000", jdk->java);
	struct th_outcome outcome;
	struct th_dump dump;
	char *log;

	need_namespace();
	record_on_small_disk("3m", command, &outcome, &log);
	assert_int_equal(outcome.status, LEAVE_STATUS);
	assert_string_equal(outcome.output, "");
	assert_string_equal(outcome.errors, "");
	th_dump_init(&dump, log);
	assert_true(th_dump_counter(&dump, "dropped_no_space") > 0);
	assert_true(th_dump_count(&dump, "java_alloc") > 0);
	assert_int_equal(th_dump_torn(&dump), 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	th_dump_deinit(&dump);
	th_outcome_deinit(&outcome);
	free(log);
	free(command);
}

/* fallocate returns EDQUOT, when the log is created or only when it grows. */
static void
quota(void **state)
{
	static const char *const limits[] = {"3000000", "1000"};
	char *plain = plain_output();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *directory = th_temporary_directory();
		char *log = th_format("%s/log.thl", directory);
		char *output = th_format("TWINHEAP_OUTPUT=%s", log);
		struct th_outcome outcome;

		th_command_run(
			&(struct th_command){
				.arguments = TH_WORDS(
					PROGRAM("quota"), limits[i], SITES, SITES_COUNT),
				.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, output,
					"TWINHEAP_INTERVAL=0"),
			},
			&outcome);
		assert_int_equal(outcome.status, 0);
		assert_string_equal(outcome.output, plain);
		if (i == 0) {
			assert_string_equal(outcome.errors, "");
			check_log_is_cut(log);
		} else {
			assert_one_line(outcome.errors, "no space for a log");
			assert_int_equal(access(log, F_OK), -1);
		}
		th_outcome_deinit(&outcome);
		free(output);
		free(log);
	}
	free(plain);
}

static void
read_only_file_system(void **state)
{
	const char *directory = th_temporary_directory();
	char *plain = plain_output();
	struct th_outcome outcome;

	(void)state;
	need_namespace();
	run_in_namespace("mkdir disk && mount -t tmpfs -o ro none disk && cd disk && "
			 "LD_PRELOAD=" TH_LIBRARY " exec " SITES " " SITES_COUNT,
		directory, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.output, plain);
	assert_one_line(outcome.errors, "Read-only file system");
	th_outcome_deinit(&outcome);
	free(plain);
}

/* Missing parts of the system */

/*
 * Records native_sites in an environment made by `prepare`, from a copy of its files on /mnt,
 * and runs the tool on the log there.  `prefix` is a command that runs another.
 */
static void
record_in_place(const char *prepare, const char *prefix)
{
	char *plain = plain_output();
	char *script = th_format(
		"mount -t tmpfs none /mnt && cp " TH_LIBRARY " " TH_TOOL " " SITES
		" /mnt && mkdir -m 777 /mnt/logs && cd /mnt/logs && "
		"%s && %s env LD_PRELOAD=/mnt/libtwinheap.so "
		"TWINHEAP_INTERVAL=0 TWINHEAP_OUTPUT=log.thl /mnt/native_sites " SITES_COUNT
		" && /mnt/twinheap summary log.thl >&2",
		prepare, prefix);
	struct th_outcome outcome;

	need_namespace();
	run_in_namespace(script, "/", &outcome);
	if (outcome.status != 0)
		fail_msg("status %d: %s", outcome.status, outcome.errors);
	assert_string_equal(outcome.output, plain);
	/* The program and its callees have names; the library printed nothing. */
	assert_null(strstr(outcome.errors, "twinheap: "));
	assert_int_equal(strncmp(outcome.errors, "/mnt/native_sites", 17), 0);
	assert_non_null(strstr(outcome.errors, "site_16 "));
	th_outcome_deinit(&outcome);
	free(script);
	free(plain);
}

static void
without_proc(void **state)
{
	(void)state;
	record_in_place("mount -t tmpfs none /proc", "");
}

static void
without_tmp(void **state)
{
	(void)state;
	record_in_place("mount -t tmpfs -o ro none /tmp", "env TMPDIR=/nowhere");
}

/* A user that is in no table, without any privilege. */
static void
as_any_user(void **state)
{
	(void)state;
	record_in_place("true",
		"setpriv --reuid=4242424 --regid=4242424 --clear-groups --bounding-set=-all");
}

/* Limits */

/* All at once: files of 2 MiB, few descriptors, little address space. */
static void
limits_of_a_java_process(const struct th_jdk *jdk)
{
	const char *directory = th_temporary_directory();
	char *log = th_format("%s/log.thl", directory);
	char *output = th_format("TWINHEAP_OUTPUT=%s", log);
	char *script = th_format(
		"ulimit -f 4096; ulimit -n 64; ulimit -v 3000000; exec %s -Xmx64m "
		"-XX:ReservedCodeCacheSize=32m -XX:CompressedClassSpaceSize=32m "
		"-cp " PROGRAMS_JAR " Leave exit 20000",
		jdk->java);
	struct th_outcome outcome;
	struct th_dump dump;

	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", script),
			.environment = TH_WORDS(
				"LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_INTERVAL=0", output),
			.directory = directory,
		},
		&outcome);
	assert_int_equal(outcome.status, LEAVE_STATUS);
	assert_string_equal(outcome.output, "");
	assert_string_equal(outcome.errors, "");
	th_dump_init(&dump, log);
	assert_true(th_dump_counter(&dump, "dropped_no_space") > 0);
	assert_true(th_dump_count(&dump, "java_alloc") > 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	th_dump_deinit(&dump);
	th_outcome_deinit(&outcome);
	free(script);
	free(output);
	free(log);
}

/*
 * A shell command that creates a group with that much memory, with either version of cgroups,
 * moves the shell into it and executes `command`.
 */
static char *
in_memory_group(const char *group, const char *command)
{
	return th_format("if [ -d /sys/fs/cgroup/memory ]; then g=/sys/fs/cgroup/memory/%s; "
			 "limit=memory.limit_in_bytes; else g=/sys/fs/cgroup/%s; "
			 "limit=memory.max; fi; mkdir $g && echo %d >$g/$limit && "
			 "echo $$ >$g/cgroup.procs || exit 77; exec %s",
		group, group, MEMORY_LIMIT, command);
}

static void
remove_group(const char *group)
{
	static const char *const parents[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};

	for (size_t i = 0; i < 2; i++) {
		char *path = th_format("%s/%s", parents[i], group);

		rmdir(path);
		free(path);
	}
}

/* The log of a process killed by the OOM killer shows what filled its memory. */
static void
killed_for_its_memory(void **state)
{
	const char *directory = th_temporary_directory();
	char *group = th_format("twinheap-test-%d", (int)getpid());
	char *log = th_format("%s/log.thl", directory);
	char *script = in_memory_group(group,
		"env LD_PRELOAD=" TH_LIBRARY
		" TWINHEAP_INTERVAL=64k TWINHEAP_OUTPUT=log.thl " PROGRAM("native_hunger"));
	struct th_recording recording = {.log = log};
	struct th_outcome outcome;
	struct th_figure live;

	(void)state;
	th_command_run(&(struct th_command){.arguments = TH_WORDS("sh", "-c", script),
			       .directory = directory},
		&outcome);
	remove_group(group);
	if (outcome.status == 77) {
		print_message("no memory group to be had: left out\n");
		skip();
	}
	assert_int_equal(outcome.signal, 9);
	th_recording_load(&recording);
	live = th_recording_site(&recording, "native", "hungry_site", "live_bytes");
	/* Besides the blocks: the program itself, its page tables, and pages of the log. */
	assert_true(live.estimate <= MEMORY_LIMIT && live.estimate >= 0.75 * MEMORY_LIMIT);
	json_decref(recording.report);
	th_outcome_deinit(&outcome);
	free(script);
	free(log);
	free(group);
}

/*
 * A Java VM in a container with that limit, to which the tool attaches from outside: the OOM killer
 * ends it, and the log has the leak and the limit.
 */
static void
attached_and_killed_for_its_memory(void **state)
{
	char *group = th_format("twinheap-attached-%d", (int)getpid());
	char *java = th_format("%s -Xmx16m -XX:+UseSerialGC -cp " PROGRAMS_JAR
			       " Attached flood",
		th_jdk_newest()->java);
	char *inner = in_memory_group(group, java);
	char *script = th_format(TH_JDK_IS_UP
		"unshare --pid --fork true 2>/dev/null || exit 77\n"
		"unshare --pid --fork sh -c '%s' >out 2>err & top=$!\n"
		"until pid=$(cat /proc/$top/task/$top/children) && [ \"$pid\" ] &&\n"
		"\tis_up ${pid%% } 2>/dev/null; do\n"
		"\tkill -0 $top 2>/dev/null || { wait $top; exit; }; sleep 0.05\n"
		"done\n"
		"sleep 0.3; " TH_TOOL
		" attach -q ${pid%% } -i 16k -o $PWD/log.thl; echo attach $?\n"
		/* Methods have their names in the log within 0.2 s. */
		"sleep 1; touch flood; wait $top\n"
		"cat /sys/fs/cgroup/memory/%s/memory.oom_control "
		"/sys/fs/cgroup/%s/memory.events 2>/dev/null | grep 'oom_kill [1-9]'\n" TH_TOOL
		" dump log.thl | grep -a -o 'cgroup limit=[0-9]*' | head -n 1\n" TH_TOOL
		" summary --value live-bytes log.thl; true\n",
		inner, group, group);
	char *limit = th_format("cgroup limit=%d\n", MEMORY_LIMIT);
	struct th_outcome outcome;

	(void)state;
	th_command_script(script, &outcome);
	remove_group(group);
	if (outcome.status == 77) {
		print_message("no memory group to be had: left out\n");
		skip();
	}
	th_assert_contains(outcome.output, "attach 0\noom_kill ");
	th_assert_contains(outcome.output, limit);
	th_assert_contains(outcome.output, "Attached.leak");
	th_outcome_deinit(&outcome);
	free(limit);
	free(script);
	free(inner);
	free(java);
	free(group);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disk_that_fills_up),
		cmocka_unit_test(disk_that_is_full),
		cmocka_unit_test(quota),
		cmocka_unit_test(read_only_file_system),
		cmocka_unit_test(without_proc),
		cmocka_unit_test(without_tmp),
		cmocka_unit_test(as_any_user),
		cmocka_unit_test(killed_for_its_memory),
		cmocka_unit_test(attached_and_killed_for_its_memory),
	};
	const struct th_jdk_test java_tests[] = {
		{"disk that fills up", disk_that_fills_up_under_java, 0},
		{"limits of a process", limits_of_a_java_process, 0},
		{NULL, NULL, 0},
	};
	int failed = cmocka_run_group_tests_name("resources", tests, NULL, NULL);

	return failed + th_jdk_run_tests("resources of Java", java_tests);
}
