/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User errors: one clear line on stderr that names the cause, the right exit status, and no
 * effect on the profiled program.
 */
#include "tests/e2e/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/dump.h"
#include "unify/shared/log_format.h"

/* Exit statuses of the tool. */
#define USAGE 2
#define UNREADABLE 3
/* The profiled program: its output and exit status. */
#define PROGRAM TH_WORDS("sh", "-c", "echo unharmed; exit 9")
#define NOBODY "65534"

/* Helpers */

/* Exactly one line, of the form "twinheap: ...", in which `part` occurs. */
static void
assert_one_line(const char *errors, const char *part)
{
	const char *end = strchr(errors, '\n');

	if (strncmp(errors, "twinheap: ", 10) != 0 || !end || end[1] != '\0' ||
		!strstr(errors, part))
		fail_msg("expected one line about \"%s\", got: %s", part, errors);
}

static size_t
count_entries(const char *directory)
{
	DIR *stream = opendir(directory);
	size_t count = 0;

	assert_non_null(stream);
	while (readdir(stream))
		count++;
	closedir(stream);
	/* Excluding "." and "..". */
	return count - 2;
}

static char *
write_file(const char *name, const void *bytes, size_t count)
{
	char *path = th_format("%s/%s", th_temporary_directory(), name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* Files that are not logs */

/*
 * Every command that reads a log rejects `path`, in one line that names it and contains
 * `reason`.
 */
static void
check_unreadable(const char *path, const char *reason)
{
	const char *const *const commands[] = {
		TH_WORDS(TH_TOOL, "summary", path),
		TH_WORDS(TH_TOOL, "tree", path),
		TH_WORDS(TH_TOOL, "dump", path),
		TH_WORDS(TH_TOOL, "export", "--format", "json", path),
		TH_WORDS(TH_TOOL, "export", "--format", "collapsed", path),
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct th_outcome outcome;

		th_command_run(
			&(struct th_command){.arguments = commands[i], .timeout_seconds = 120},
			&outcome);
		assert_int_equal(outcome.status, UNREADABLE);
		assert_string_equal(outcome.output, "");
		assert_one_line(outcome.errors, path);
		assert_one_line(outcome.errors, reason);
		th_outcome_deinit(&outcome);
	}
}

static void
missing_file(void **state)
{
	(void)state;
	check_unreadable("/no/such/log.thl", "No such file");
}

static void
directory(void **state)
{
	(void)state;
	check_unreadable(th_temporary_directory(), "is a directory");
}

static void
device(void **state)
{
	(void)state;
	check_unreadable("/dev/zero", "is not a regular file");
}

/* Opening it would wait for a writer. */
static void
named_pipe(void **state)
{
	char *path = th_format("%s/pipe", th_temporary_directory());

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	check_unreadable(path, "is not a regular file");
	free(path);
}

static void
empty_file(void **state)
{
	char *path = write_file("empty.thl", "", 0);

	(void)state;
	check_unreadable(path, "is empty");
	free(path);
}

static void
not_a_log(void **state)
{
	static const char text[] = "The quick brown fox jumps over the lazy dog.\n";
	char *path = write_file("text.thl", text, sizeof(text) - 1);

	(void)state;
	check_unreadable(path, "is not a twinheap log");
	check_unreadable("/bin/sh", "is not a twinheap log");
	free(path);
}

static void
beginning_of_a_log(void **state)
{
	struct th_log_header header = {.magic = TH_LOG_MAGIC, .version = TH_LOG_VERSION};
	char *path = write_file("cut.thl", &header, 100);

	(void)state;
	check_unreadable(path, "truncated");
	free(path);
}

static void
log_of_a_newer_version(void **state)
{
	struct th_log_header header = {.magic = TH_LOG_MAGIC,
		.version = TH_LOG_VERSION + 1,
		.header_bytes = TH_LOG_HEADER_BYTES};
	unsigned char page[TH_LOG_HEADER_BYTES] = {0};
	char *path;

	(void)state;
	memcpy(page, &header, sizeof(header));
	path = write_file("newer.thl", page, sizeof(page));
	check_unreadable(path, "newer twinheap");
	free(path);
}

/* Command lines */

static void
check_usage(const char *const *command, const char *part)
{
	struct th_outcome outcome;

	th_command_run(&(struct th_command){.arguments = command}, &outcome);
	assert_int_equal(outcome.status, USAGE);
	assert_string_equal(outcome.output, "");
	assert_one_line(outcome.errors, part);
	th_outcome_deinit(&outcome);
}

/* Logs that are truncated or damaged */

/* Each command succeeds, and says what is missing: in one line on stderr, or in its text. */
static void
check_damaged(const char *path, const char *part)
{
	const char *const *const commands[] = {
		TH_WORDS(TH_TOOL, "tree", path),
		TH_WORDS(TH_TOOL, "leaks", path),
		TH_WORDS(TH_TOOL, "leaks", "--format", "json", path),
		TH_WORDS(TH_TOOL, "summary", "--format", "json", path),
		TH_WORDS(TH_TOOL, "rss", path),
		TH_WORDS(TH_TOOL, "diff", path, path),
		TH_WORDS(TH_TOOL, "flamegraph", path),
		TH_WORDS(TH_TOOL, "bundle", "-o", "/dev/null", path),
		TH_WORDS(TH_TOOL, "export", "--format", "json", path),
		TH_WORDS(TH_TOOL, "export", "--format", "collapsed", path),
		TH_WORDS(TH_TOOL, "export", "--format", "speedscope", path),
		TH_WORDS(TH_TOOL, "export", "--format", "pprof", path),
		TH_WORDS(TH_TOOL, "export", "--format", "otlp", path),
		TH_WORDS(TH_TOOL, "export", "--format", "jfr", path),
	};
	struct th_outcome outcome;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		th_command_run(
			&(struct th_command){.arguments = commands[i], .timeout_seconds = 120},
			&outcome);
		if (outcome.status || !strstr(outcome.errors, part))
			fail_msg("%s: status %d, %s", commands[i][1], outcome.status,
				outcome.errors);
		th_outcome_deinit(&outcome);
	}
	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "summary", path),
			       .timeout_seconds = 120},
		&outcome);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.errors, "");
	assert_non_null(strstr(outcome.output, part));
	th_outcome_deinit(&outcome);
}

/* Of a program that ends normally, so that its log has a breakdown of resident memory and an end. */
static char *
record_log(size_t *bytes_ret, char **contents_ret)
{
	char *path = th_format("%s/whole.thl", th_temporary_directory());
	struct th_outcome outcome;

	th_command_run(&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "-q", "-i",
						    "1k", "-o", path, "--", "ls", "/"),
			       .timeout_seconds = 120},
		&outcome);
	assert_int_equal(outcome.status, 0);
	th_outcome_deinit(&outcome);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	*contents_ret = malloc(16 << 20);
	*bytes_ret = fread(*contents_ret, 1, 16 << 20, file);
	fclose(file);
	return path;
}

static void
truncated_and_damaged_logs(void **state)
{
	char *contents;
	size_t bytes;
	char *path = record_log(&bytes, &contents);
	uint64_t tail = ((const struct th_log_header *)(const void *)contents)->tail;
	(void)state;

	assert_true(tail <= bytes);
	char *cut = write_file("cut.thl", contents, tail - 8);
	check_damaged(cut, "truncated");
	/* The last record, which is END. */
	memset(contents + tail - 16, 0xa5, 8);
	char *damaged = write_file("damaged.thl", contents, tail);
	check_damaged(damaged, "damaged");
	free(cut);
	free(damaged);
	free(contents);
	free(path);
}

static void
command_lines_of_views(void **state)
{
	(void)state;
	check_usage(TH_WORDS(TH_TOOL, "sumary", "log.thl"), "sumary");
	check_usage(TH_WORDS(TH_TOOL, "--no-such-option"), "--no-such-option");
	check_usage(TH_WORDS(TH_TOOL, "summary", "--no-such-option", "log.thl"),
		"--no-such-option");
	check_usage(TH_WORDS(TH_TOOL, "summary", "-Z", "log.thl"), "-Z");
	check_usage(TH_WORDS(TH_TOOL, "summary"), "summary");
	check_usage(TH_WORDS(TH_TOOL, "summary", "a.thl", "b.thl"), "b.thl");
	check_usage(TH_WORDS(TH_TOOL, "summary", "--from", "yesterday", "a.thl"), "yesterday");
	check_usage(TH_WORDS(TH_TOOL, "summary", "--heaps", "python", "a.thl"), "python");
	check_usage(TH_WORDS(TH_TOOL, "summary", "--include", "(", "a.thl"), "(");
	check_usage(TH_WORDS(TH_TOOL, "export", "--format", "xml", "a.thl"), "xml");
	check_usage(TH_WORDS(TH_TOOL, "dump", "--heaps", "java", "a.thl"), "--heaps");
}

static void
command_lines_of_run(void **state)
{
	(void)state;
	check_usage(TH_WORDS(TH_TOOL, "run"), "no command");
	check_usage(
		TH_WORDS(TH_TOOL, "run", "--no-such-option", "--", "true"), "--no-such-option");
	check_usage(TH_WORDS(TH_TOOL, "run", "-i", "much", "--", "true"), "much");
	check_usage(TH_WORDS(TH_TOOL, "run", "-i", "5G", "--", "true"), "5G");
	check_usage(
		TH_WORDS(TH_TOOL, "run", "-o", "/no/such/log.thl", "--", "true"), "/no/such");
	check_usage(TH_WORDS(TH_TOOL, "run", "--follow", "some", "--", "true"), "some");
}

static void
commands_that_are_none(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_run(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "no-such-command")},
		&outcome);
	assert_int_equal(outcome.status, 127);
	assert_one_line(outcome.errors, "no-such-command");
	th_outcome_deinit(&outcome);
	th_command_run(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "/etc/passwd")},
		&outcome);
	assert_int_equal(outcome.status, 126);
	assert_one_line(outcome.errors, "/etc/passwd");
	th_outcome_deinit(&outcome);
}

/* The reader of a pipe may exit; a full disk must be reported. */
static void
outputs_that_cannot_be_written(void **state)
{
	char *log = th_format("%s/log.thl", th_temporary_directory());
	char *setting = th_format("TWINHEAP_OUTPUT=%s", log);
	struct th_outcome outcome;

	(void)state;
	th_command_check(&(struct th_command){.arguments = TH_WORDS("true"),
				 .environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, setting)},
		&outcome);
	th_outcome_deinit(&outcome);
	check_usage(TH_WORDS(TH_TOOL, "export", "--format", "json", log, "-o", "/no/such/file"),
		"/no/such/file");
	check_usage(TH_WORDS(TH_TOOL, "export", "--format", "json", log, "-o", log), log);
	check_usage(TH_WORDS("sh", "-c", "exec \"$0\" dump \"$1\" >/dev/full", TH_TOOL, log),
		"standard output");
	free(setting);
	free(log);
}

/* Settings of the library */

/* Runs the program under these settings; it must end as without the library. */
static void
run_unharmed(const char *const *settings, const char *where, struct th_outcome *ret)
{
	const char *environment[8] = {"LD_PRELOAD=" TH_LIBRARY};

	for (size_t i = 0; settings && settings[i]; i++)
		environment[i + 1] = settings[i];
	th_command_run(
		&(struct th_command){
			.arguments = PROGRAM, .environment = environment, .directory = where},
		ret);
	assert_int_equal(ret->status, 9);
	assert_string_equal(ret->output, "unharmed\n");
}

/* A program with an invalid setting: one line about it, and no log. */
static void
check_refused(const char *setting)
{
	const char *where = th_temporary_directory();
	struct th_outcome outcome;

	run_unharmed(TH_WORDS(setting), where, &outcome);
	assert_one_line(outcome.errors, setting);
	assert_one_line(outcome.errors, "this process is not recorded");
	assert_int_equal(count_entries(where), 0);
	th_outcome_deinit(&outcome);
}

static void
values_that_are_refused(void **state)
{
	(void)state;
	check_refused("TWINHEAP_INTERVAL=often");
	check_refused("TWINHEAP_INTERVAL=-1");
	check_refused("TWINHEAP_INTERVAL=1.5M");
	check_refused("TWINHEAP_INTERVAL=512 k");
	check_refused("TWINHEAP_INTERVAL=2G");
	check_refused("TWINHEAP_INTERVAL=99999999999999999999999");
	check_refused("TWINHEAP_RATE=fast");
	check_refused("TWINHEAP_RATE=10k");
	check_refused("TWINHEAP_HEAPS=python");
	check_refused("TWINHEAP_HEAPS=both|java");
	check_refused("TWINHEAP_DEPTH=0");
	check_refused("TWINHEAP_DEPTH=2049");
	check_refused("TWINHEAP_DEPTH=deep");
	check_refused("TWINHEAP_FOLLOW=some");
	check_refused("TWINHEAP_MAX_LOG=4k");
	check_refused("TWINHEAP_MAX_LOG=much");
	check_refused("TWINHEAP_SEED=0x10");
	check_refused("TWINHEAP_SEED=lucky");
}

/* A program with a valid setting: no message, and one log. */
static void
check_taken(const char *setting, const char *name, const char *value)
{
	const char *where = th_temporary_directory();
	char *output = th_format("TWINHEAP_OUTPUT=%s/log.thl", where);
	char *log = th_format("%s/log.thl", where);
	struct th_outcome outcome;
	struct th_dump dump;
	bool found = false;

	run_unharmed(TH_WORDS(setting, output), where, &outcome);
	assert_string_equal(outcome.errors, "");
	assert_int_equal(count_entries(where), 1);
	th_dump_init(&dump, log);
	while (!found && th_dump_next(&dump, "setting"))
		found = th_dump_has_text(&dump, "name", name) &&
			th_dump_has_text(&dump, "value", value);
	assert_true(found);
	th_dump_deinit(&dump);
	th_outcome_deinit(&outcome);
	free(log);
	free(output);
}

static void
values_that_are_taken(void **state)
{
	(void)state;
	check_taken("TWINHEAP_INTERVAL=0", "TWINHEAP_INTERVAL", "0");
	check_taken("TWINHEAP_INTERVAL=2M", "TWINHEAP_INTERVAL", "2M");
	check_taken("TWINHEAP_INTERVAL=2147483647", "TWINHEAP_INTERVAL", "2147483647");
	check_taken("TWINHEAP_INTERVAL=", "TWINHEAP_INTERVAL", "");
	check_taken("TWINHEAP_DEPTH=1", "TWINHEAP_DEPTH", "1");
	check_taken("TWINHEAP_DEPTH=2048", "TWINHEAP_DEPTH", "2048");
	check_taken("TWINHEAP_HEAPS=java", "TWINHEAP_HEAPS", "java");
	check_taken("TWINHEAP_FOLLOW=none", "TWINHEAP_FOLLOW", "none");
	check_taken("TWINHEAP_MAX_LOG=1M", "TWINHEAP_MAX_LOG", "1M");
	check_taken("TWINHEAP_MAX_LOG=1T", "TWINHEAP_MAX_LOG", "1T");
	check_taken(
		"TWINHEAP_SEED=18446744073709551615", "TWINHEAP_SEED", "18446744073709551615");
	check_taken("TWINHEAP_DISABLE=0", "TWINHEAP_DISABLE", "0");
	check_taken("TWINHEAP_VERBOSE=0", "TWINHEAP_VERBOSE", "0");
}

static void
disabled(void **state)
{
	const char *where = th_temporary_directory();
	struct th_outcome outcome;

	(void)state;
	run_unharmed(TH_WORDS("TWINHEAP_DISABLE=1"), where, &outcome);
	assert_string_equal(outcome.errors, "");
	assert_int_equal(count_entries(where), 0);
	th_outcome_deinit(&outcome);
}

/* Paths where no log can be created */

static void
check_no_log(const char *output, const char *reason)
{
	const char *where = th_temporary_directory();
	char *setting = th_format("TWINHEAP_OUTPUT=%s", output);
	struct th_outcome outcome;

	run_unharmed(TH_WORDS(setting), where, &outcome);
	assert_one_line(outcome.errors, output);
	assert_one_line(outcome.errors, reason);
	assert_int_equal(count_entries(where), 0);
	th_outcome_deinit(&outcome);
	free(setting);
}

static void
places_where_no_log_can_be(void **state)
{
	(void)state;
	check_no_log("/no/such/directory/log.thl", "No such file or directory");
	check_no_log("/etc/passwd/log.thl", "Not a directory");
	check_no_log("no/such/directory/log.thl", "No such file or directory");
	check_no_log("/proc/log.thl", "No such file or directory");
}

static void
name_that_is_too_long(void **state)
{
	/* One component that is too long, and several that are too long together. */
	static const char *const parts[] = {"x", "./"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *where = th_temporary_directory();
		char setting[6000] = "TWINHEAP_OUTPUT=";
		struct th_outcome outcome;

		while (strlen(setting) < sizeof(setting) - 20)
			strcat(setting, parts[i]);
		strcat(setting, "log.thl");
		run_unharmed(TH_WORDS(setting), where, &outcome);
		assert_one_line(outcome.errors, "File name too long");
		assert_int_equal(count_entries(where), 0);
		th_outcome_deinit(&outcome);
	}
}

/* More than the library stores of settings. */
static void
value_that_is_too_long(void **state)
{
	const char *where = th_temporary_directory();
	char setting[10000] = "TWINHEAP_OUTPUT=";
	struct th_outcome outcome;

	(void)state;
	memset(setting + strlen(setting), 'x', sizeof(setting) - strlen(setting) - 1);
	setting[sizeof(setting) - 1] = '\0';
	run_unharmed(TH_WORDS(setting), where, &outcome);
	assert_one_line(outcome.errors, "TWINHEAP_OUTPUT: too long");
	assert_int_equal(count_entries(where), 0);
	th_outcome_deinit(&outcome);
}

/*
 * As user nobody, in a directory of root; only root can switch to nobody.  The library is
 * copied there, because the build directory may be below one that others cannot enter, such as
 * /root.
 */
static void
directory_that_is_not_writable(void **state)
{
	const char *where = th_temporary_directory();
	char *preload = th_format("LD_PRELOAD=%s/libtwinheap.so", where);
	struct th_outcome outcome;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(where, 0755), 0);
	free(th_command_output(TH_WORDS("cp", TH_LIBRARY, where)));
	th_command_run(
		&(struct th_command){
			.arguments = TH_WORDS("setpriv", "--reuid=" NOBODY, "--regid=" NOBODY,
				"--clear-groups", "env", preload, "sh", "-c",
				"echo unharmed; exit 9"),
			.directory = where,
		},
		&outcome);
	assert_int_equal(outcome.status, 9);
	assert_string_equal(outcome.output, "unharmed\n");
	assert_one_line(outcome.errors, "Permission denied");
	assert_int_equal(count_entries(where), 1);
	th_outcome_deinit(&outcome);
	free(preload);
}

/* An existing file is never overwritten: the log gets a different name. */
static void
name_that_is_taken(void **state)
{
	const char *where = th_temporary_directory();
	char *taken = th_format("%s/log.thl", where);
	char *setting = th_format("TWINHEAP_OUTPUT=%s", taken);
	FILE *file = fopen(taken, "w");
	char content[16] = "";
	struct th_outcome outcome;

	(void)state;
	assert_true(fputs("precious", file) >= 0);
	fclose(file);
	run_unharmed(TH_WORDS(setting), where, &outcome);
	assert_string_equal(outcome.errors, "");
	file = fopen(taken, "r");
	assert_int_equal(fread(content, 1, sizeof(content) - 1, file), strlen("precious"));
	assert_string_equal(content, "precious");
	fclose(file);
	assert_int_equal(count_entries(where), 2);
	th_outcome_deinit(&outcome);
	free(setting);
	free(taken);
}

/* Limits */

/* Runs native_sites at interval 0 in a shell that sets a limit first; returns its log. */
static char *
record_under_limit(const char *limit, const char *setting)
{
	const char *where = th_temporary_directory();
	char *log = th_format("%s/log.thl", where);
	char *output = th_format("TWINHEAP_OUTPUT=%s", log);
	char *script = th_format(
		"%s && exec " TH_TEST_BUILD "/tests/programs/native_sites 1000000", limit);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", script),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_INTERVAL=0",
				output, setting),
			.directory = where,
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	assert_non_null(strstr(outcome.output, "\"site_16\""));
	th_outcome_deinit(&outcome);
	free(script);
	free(output);
	return log;
}

/* Samples that did not fit are counted, and the report gives the reason. */
static void
check_log_is_full(char *log, off_t bytes, const char *counter, const char *reason)
{
	char *summary = th_command_output(TH_WORDS(TH_TOOL, "summary", log));
	struct stat status;
	struct th_dump dump;

	assert_int_equal(stat(log, &status), 0);
	assert_true(status.st_size <= bytes);
	assert_non_null(strstr(summary, reason));
	th_dump_init(&dump, log);
	assert_true(th_dump_counter(&dump, counter) > 0);
	assert_true(th_dump_counter(&dump, "native_samples") ==
		    th_dump_count(&dump, "native_alloc"));
	assert_int_equal(th_dump_torn(&dump), 0);
	assert_int_equal(th_dump_damaged(&dump), 0);
	th_dump_deinit(&dump);
	free(summary);
	free(log);
}

static void
log_at_its_greatest_size(void **state)
{
	(void)state;
	check_log_is_full(record_under_limit("true", "TWINHEAP_MAX_LOG=1M"), 1 << 20,
		"dropped_log_full", "the log reached its limit");
}

/* SIGXFSZ would end the program. */
static void
limit_on_the_size_of_files(void **state)
{
	(void)state;
	check_log_is_full(record_under_limit("ulimit -f 4096", "TWINHEAP_MAX_LOG=1G"), 4 << 20,
		"dropped_no_space", "no space for the log");
}

/* Less address space than the maximum log size: the log is not mapped at once. */
static void
limit_on_address_space(void **state)
{
	char *log = record_under_limit("ulimit -v 600000", "TWINHEAP_MAX_LOG=1G");
	struct th_dump dump;

	(void)state;
	th_dump_init(&dump, log);
	assert_true(th_dump_is_complete(&dump));
	assert_true(th_dump_count(&dump, "native_alloc") > 60000);
	th_dump_deinit(&dump);
	free(log);
}

/* ... with room for the program's own needs. */
static void
limit_on_address_space_is_the_program_s(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c",
				"ulimit -v 600000 && exec python3 -c 'len(bytearray(400 << "
				"20))'"),
			.environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY),
			.directory = th_temporary_directory(),
		},
		&outcome);
	assert_string_equal(outcome.errors, "");
	th_outcome_deinit(&outcome);
}

/* No free descriptor below the usual high number. */
static void
limit_on_descriptors(void **state)
{
	char *log = record_under_limit("ulimit -n 20", "TWINHEAP_MAX_LOG=1G");
	struct th_dump dump;

	(void)state;
	th_dump_init(&dump, log);
	assert_true(th_dump_is_complete(&dump));
	assert_true(th_dump_count(&dump, "native_alloc") > 60000);
	th_dump_deinit(&dump);
	free(log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_file),
		cmocka_unit_test(directory),
		cmocka_unit_test(device),
		cmocka_unit_test(named_pipe),
		cmocka_unit_test(empty_file),
		cmocka_unit_test(not_a_log),
		cmocka_unit_test(beginning_of_a_log),
		cmocka_unit_test(log_of_a_newer_version),
		cmocka_unit_test(truncated_and_damaged_logs),
		cmocka_unit_test(command_lines_of_views),
		cmocka_unit_test(command_lines_of_run),
		cmocka_unit_test(commands_that_are_none),
		cmocka_unit_test(outputs_that_cannot_be_written),
		cmocka_unit_test(values_that_are_refused),
		cmocka_unit_test(values_that_are_taken),
		cmocka_unit_test(disabled),
		cmocka_unit_test(places_where_no_log_can_be),
		cmocka_unit_test(name_that_is_too_long),
		cmocka_unit_test(value_that_is_too_long),
		cmocka_unit_test(directory_that_is_not_writable),
		cmocka_unit_test(name_that_is_taken),
		cmocka_unit_test(log_at_its_greatest_size),
		cmocka_unit_test(limit_on_the_size_of_files),
		cmocka_unit_test(limit_on_address_space),
		cmocka_unit_test(limit_on_address_space_is_the_program_s),
		cmocka_unit_test(limit_on_descriptors),
	};

	return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
