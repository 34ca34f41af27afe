/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle gives the same reports on another machine as the log on this one.  The other machine
 * is simulated with the bundle itself: every build id in it is changed, so that no file here
 * matches a module.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID_TEXT 40 /* SHA-1, as linkers write it */

static struct th_recording recording;
static const char *here;  /* directory with the log */
static const char *there; /* directory with the bundle, under the same name */

static char *
read_file(const char *path, size_t *length_ret)
{
	FILE *file = fopen(path, "rb");
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*length_ret = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*length_ret + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *length_ret, file), *length_ret);
	fclose(file);
	return bytes;
}

static void
write_file(const char *path, const char *bytes, size_t length)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static size_t
hexadecimal_run(const char *bytes, size_t length)
{
	size_t run = 0;

	while (run < length && ((bytes[run] >= '0' && bytes[run] <= '9') ||
				       (bytes[run] >= 'a' && bytes[run] <= 'f')))
		run++;
	return run;
}

/* Changes the first digit of every build id; returns their number. */
static int
change_build_ids(char *bytes, size_t length, char digit, char other)
{
	int count = 0;

	for (size_t at = 0; at < length;) {
		size_t run = hexadecimal_run(bytes + at, length - at);

		if (run == BUILD_ID_TEXT && ++count)
			bytes[at] = bytes[at] == digit ? other : digit;
		at += run + 1;
	}
	return count;
}

static int
prepare(void **state)
{
	size_t length;

	(void)state;
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = th_jdk_newest(),
			.arguments = TH_WORDS("--volume", "8M", "functions", "path"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=7"),
		},
		&recording);
	here = th_temporary_directory();
	there = th_temporary_directory();
	char *copy = th_format("cp %s %s/log.thl && cd %s && %s bundle log.thl -o %s/log.thl",
		recording.log, here, here, TH_TOOL, there);
	free(th_command_output(TH_WORDS("sh", "-c", copy)));
	free(copy);
	char *path = th_format("%s/log.thl", there);
	char *bytes = read_file(path, &length);
	/*
	 * Libraries of some Java runtimes have no build id: those of the C library and of the
	 * test do.
	 */
	assert_true(change_build_ids(bytes, length, 'f', 'e') > 0);
	write_file(path, bytes, length);
	free(bytes);
	free(path);
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	th_recording_deinit(&recording);
	return 0;
}

/* The output of all commands in a directory; build ids all begin alike. */
static struct th_outcome
say(const char *directory, const char *arguments)
{
	char *line = th_format("%s %s", TH_TOOL, arguments);
	struct th_outcome outcome;

	th_command_check(
		&(struct th_command){
			.arguments = TH_WORDS("sh", "-c", line),
			.directory = directory,
		},
		&outcome);
	change_build_ids(outcome.output, outcome.output_bytes, '0', '0');
	change_build_ids(outcome.errors, outcome.errors_bytes, '0', '0');
	free(line);
	return outcome;
}

static void
expect_same(const char *arguments)
{
	struct th_outcome original = say(here, arguments);
	struct th_outcome bundled = say(there, arguments);

	assert_string_equal(bundled.errors, original.errors);
	assert_int_equal(bundled.output_bytes, original.output_bytes);
	assert_memory_equal(bundled.output, original.output, original.output_bytes);
	th_outcome_deinit(&original);
	th_outcome_deinit(&bundled);
}

static void
test_views_are_the_same(void **state)
{
	static const char *const views[] = {"summary log.thl", "summary --brief log.thl",
		"tree --vm-frames log.thl", "tree log.thl", "leaks log.thl",
		"leaks --format json log.thl", "export --format json log.thl",
		"export --format collapsed --value live-bytes log.thl",
		"export --format speedscope log.thl",
		"export --format pprof log.thl | gzip -dc", "flamegraph log.thl",
		"diff log.thl@peak log.thl@end"};

	(void)state;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		expect_same(views[i]);
}

/* Checks the simulation: without the bundle nothing there has a source line. */
static void
test_files_are_hidden(void **state)
{
	(void)state;
	char *path = th_format("%s/log.thl", here);
	char *hidden = th_format("%s/hidden.thl", here);
	size_t length;
	char *bytes = read_file(path, &length);

	change_build_ids(bytes, length, 'f', 'e');
	write_file(hidden, bytes, length);
	struct th_outcome known = say(here, "export --format json log.thl");
	struct th_outcome unknown = say(here, "export --format json hidden.thl");
	assert_non_null(strstr(known.output, "mixed_calloc_4096"));
	assert_non_null(strstr(known.output, "sites.c"));
	/* The names of functions are those of the log itself. */
	assert_non_null(strstr(unknown.output, "mixed_calloc_4096"));
	assert_null(strstr(unknown.output, "sites.c"));
	assert_non_null(strstr(unknown.errors, "changed since the recording"));
	th_outcome_deinit(&known);
	th_outcome_deinit(&unknown);
	free(bytes);
	free(hidden);
	free(path);
}

static void
test_compressed(void **state)
{
	(void)state;
	struct th_outcome plain = say(here, "tree log.thl");
	struct th_outcome packed = say(
		here, "bundle log.thl -o packed.thl.gz >&2 && " TH_TOOL " tree packed.thl.gz");

	assert_string_equal(packed.output, plain.output);
	th_outcome_deinit(&plain);
	th_outcome_deinit(&packed);
}

/* An existing bundle is not overwritten unless it is named, and a bundle cannot be bundled. */
static void
test_refusals(void **state)
{
	(void)state;
	struct th_outcome outcome = say(here, "bundle log.thl");
	assert_non_null(strstr(outcome.output, "log.bundle.thl: "));
	th_outcome_deinit(&outcome);
	static const struct {
		const char *arguments;
		const char *expected;
	} cases[] = {
		{"bundle log.thl", "log.bundle.thl (use -o to name another file): File exists"},
		{"bundle log.bundle.thl -o again.thl", "log.bundle.thl: is already a bundle"},
		{"bundle log.thl -o log.thl", "log.thl: would overwrite the log"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *line = th_format("%s %s 2>&1; true", TH_TOOL, cases[i].arguments);

		th_command_check(
			&(struct th_command){
				.arguments = TH_WORDS("sh", "-c", line),
				.directory = here,
			},
			&outcome);
		assert_non_null(strstr(outcome.output, cases[i].expected));
		th_outcome_deinit(&outcome);
		free(line);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_are_the_same),
		cmocka_unit_test(test_files_are_hidden),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, prepare, forget);
}
