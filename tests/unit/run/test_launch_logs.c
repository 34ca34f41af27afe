/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of `run` after the command: the logs of the run.  This program plays all roles:
 * with "summary" as its first argument it is the tool that prints one, with "write-log" it is a
 * command that writes logs.
 */
#include "tests/unit/run/launch_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/run/launch.h"
#include "unify/shared/clock.h"
#include "unify/shared/log_format.h"

/* A log of this process at `path`, begun `age` seconds ago, with `padding` bytes of records. */
static void
write_log(const char *path, bool has_jvm, int age, uint32_t padding, uint64_t samples)
{
	static union {
		struct th_log_header header;
		char bytes[4 * TH_LOG_HEADER_BYTES];
	} log;
	struct th_log_record filler = {.size = padding, .type = TH_EVENT_NOTE};
	uint64_t at = TH_LOG_HEADER_BYTES;
	FILE *file = fopen(path, "w");

	memset(&log, 0, sizeof(log));
	memcpy(log.header.magic, TH_LOG_MAGIC, 8);
	log.header.version = TH_LOG_VERSION;
	log.header.header_bytes = TH_LOG_HEADER_BYTES;
	log.header.pid = (uint32_t)getpid();
	log.header.has_vm = has_jvm;
	log.header.counters[TH_COUNTER_NATIVE_SAMPLES] = samples;
	log.header.start_realtime = th_clock_read(CLOCK_REALTIME) - (uint64_t)age * TH_NS_PER_S;
	filler.check = th_log_check(at, filler.size, filler.type);
	memcpy(log.bytes + at, &filler, sizeof(filler));
	log.header.tail = at + padding;
	assert_non_null(file);
	assert_int_equal(fwrite(&log, 1, sizeof(log), file), sizeof(log));
	fclose(file);
}

/* write-log PATH java|native|empty AGE PADDING ...: writes logs, the last kind without a sample. */
static int
play_command(int argc, char **argv)
{
	for (int i = 2; i + 3 < argc; i += 4)
		write_log(argv[i], !strcmp(argv[i + 1], "java"), atoi(argv[i + 2]),
			(uint32_t)atoi(argv[i + 3]), strcmp(argv[i + 1], "empty") != 0);
	return 0;
}

static int
play_tool(int argc, char **argv)
{
	printf("summary of %s, %s\n", argc > 3 ? argv[3] : "nothing", argv[2]);
	return 0;
}

/* In place of the library for the operators of AddressSanitizer, which is next to ours. */
#ifdef __SANITIZE_ADDRESS__
#	define OWN_ALLOCATOR_LINES 1
#else
#	define OWN_ALLOCATOR_LINES 0
#endif

static void
test_no_log(void **state)
{
	(void)state;
	RUN("true");
	assert_int_equal(launched.status, 0);
	assert_int_equal(count_lines(launched.err), 1);
	assert_contains(launched.err, "no log was written");
}

/*
 * The log of the JVM comes first although it is smaller, with its summary; nothing on stdout.
 */
static void
test_logs_of_the_run(void **state)
{
	(void)state;
	write_log("twinheap.1.thl", true, 10, 64, 1); /* of an earlier run */
	close(creat("twinheap.2.thl", 0644));
	close(creat("twinheap.x.thl", 0644));
	RUN(launch_self, "write-log", "twinheap.77.thl", "native", "0", "4096",
		"twinheap.78.thl", "java", "0", "64", "twinheap.79.thl", "native", "0", "128",
		"twinheap.1.thl.bak", "java", "0", "64");
	assert_int_equal(launched.status, 0);
	assert_string_equal(launched.out, "");
	assert_int_equal(count_lines(launched.err), OWN_ALLOCATOR_LINES + 4);
	assert_contains(launched.err, "(Java) recorded in twinheap.78.thl\n");
	assert_contains(launched.err, "\nsummary of twinheap.78.thl, --brief\n");
	assert_true(strstr(launched.err, "78.thl") < strstr(launched.err, "77.thl"));
	assert_true(strstr(launched.err, "77.thl") < strstr(launched.err, "79.thl"));
	RUN("-q", launch_self, "write-log", "twinheap.80.thl", "java", "0", "64");
	assert_int_equal(count_lines(launched.err), OWN_ALLOCATOR_LINES);
}

/* Wrappers without a sample leave no log, unless all logs are wanted or there is no other one. */
static void
test_empty_logs_are_removed(void **state)
{
	(void)state;
	RUN(launch_self, "write-log", "twinheap.91.thl", "empty", "0", "64", "twinheap.92.thl",
		"java", "0", "64", "twinheap.93.thl", "native", "0", "64");
	assert_int_not_equal(access("twinheap.91.thl", F_OK), 0);
	assert_int_equal(access("twinheap.92.thl", F_OK), 0);
	assert_int_equal(access("twinheap.93.thl", F_OK), 0);
	assert_null(strstr(launched.err, "91.thl"));
	/* Quietly, too. */
	RUN("-q", "-o", "q.%p", launch_self, "write-log", "q.1", "empty", "0", "64", "q.2",
		"native", "0", "64");
	assert_int_not_equal(access("q.1", F_OK), 0);
	assert_int_equal(access("q.2", F_OK), 0);
	RUN("--follow", "all", "-o", "a.%p", launch_self, "write-log", "a.1", "empty", "0",
		"64", "a.2", "native", "0", "64");
	assert_int_equal(access("a.1", F_OK), 0);
	RUN("-o", "o.%p", launch_self, "write-log", "o.1", "empty", "0", "64");
	assert_int_equal(access("o.1", F_OK), 0);
}

static void
test_many_logs_are_not_all_named(void **state)
{
	(void)state;
	RUN("-o", "m.%p", launch_self, "write-log", "m.1", "java", "0", "64", "m.2", "java",
		"0", "64", "m.3", "java", "0", "64", "m.4", "java", "0", "64", "m.5", "java",
		"0", "64", "m.6", "java", "0", "64", "m.7", "java", "0", "64", "m.8", "java",
		"0", "64", "m.9", "java", "0", "64", "m.10", "java", "0", "64");
	assert_int_equal(count_lines(launched.err), OWN_ALLOCATOR_LINES + 8 + 1 + 1);
	assert_contains(launched.err, "and 2 more logs");
}

static bool
finds(const char *pattern, const char *name)
{
	struct th_launch_logs logs;
	char *absolute;
	bool found;

	assert_null(th_launch_logs_absolute(pattern, &absolute));
	write_log(name, false, 0, 64, 1);
	th_launch_logs_find(absolute, 0, &logs);
	unlink(name);
	found = logs.logs_count == 1;
	th_launch_logs_deinit(&logs);
	free(absolute);
	return found;
}

/* The library expands a pattern in the same way, and inserts numbers before the extension. */
static void
test_names_that_a_pattern_stands_for(void **state)
{
	char host[256] = "", name[512];

	(void)state;
	assert_int_equal(mkdir("names", 0755), 0);
	assert_int_equal(chdir("names"), 0);
	assert_true(finds("a.%p.thl", "a.123.thl"));
	assert_true(finds("a.%p.thl", "a.123.45.thl"));
	assert_false(finds("a.%p.thl", "a..thl"));
	assert_false(finds("a.%p.thl", "a.x.thl"));
	assert_false(finds("a.%p.thl", "a.123.thl2"));
	assert_false(finds("a.%p.thl", "b.123.thl"));
	assert_true(finds("a.thl", "a.thl"));
	assert_true(finds("a.thl", "a.123.thl"));
	assert_true(finds("a.thl", "a.123.2.thl"));
	assert_false(finds("a.thl", "a.123.x.thl"));
	assert_true(finds("plain", "plain"));
	assert_true(finds("plain", "plain.123"));
	assert_true(finds("1%p2", "1992")); /* %p = 99 */
	assert_false(finds("1%p2", "12"));
	assert_true(finds("[*]%p", "[*]7"));
	assert_false(finds("[*]%p", "x7"));
	assert_true(finds("100%%p.thl", "100%p.thl"));
	assert_false(finds("100%%p.thl", "1007.thl"));
	assert_true(finds("%x", "%x"));
	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "%s.12", host);
	assert_true(finds("%h.%p", name));
	assert_int_equal(chdir(launch_directory), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest few_tests[] = {
		cmocka_unit_test(test_everything_that_starts_a_command),
		cmocka_unit_test(test_names_that_a_pattern_stands_for),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_log),
		cmocka_unit_test(test_logs_of_the_run),
		cmocka_unit_test(test_empty_logs_are_removed),
		cmocka_unit_test(test_many_logs_are_not_all_named),
		cmocka_unit_test(test_names_that_a_pattern_stands_for),
	};

	if (argc > 1 && strcmp(argv[1], "summary") == 0)
		return play_tool(argc, argv);
	if (argc > 1 && strcmp(argv[1], "write-log") == 0)
		return play_command(argc, argv);
	if (!launch_can_start_commands())
		return cmocka_run_group_tests(few_tests, launch_set_up, launch_tear_down);
	return cmocka_run_group_tests(tests, launch_set_up, launch_tear_down);
}
