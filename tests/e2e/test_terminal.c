/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tool does for people at a terminal: colours and lines that fit there, plain text
 * elsewhere, a manual without mistakes, completion that knows the options.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPLETION TH_TEST_BUILD "/twinheap.bash"
#define MANUAL TH_TEST_BUILD "/twinheap.1"

static struct th_recording recording;

static int
record(void **state)
{
	(void)state;
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = th_jdk_newest(),
			.arguments = TH_WORDS("--volume", "16m"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=7"),
		},
		&recording);
	return 0;
}

static int
forget(void **state)
{
	(void)state;
	th_recording_deinit(&recording);
	return 0;
}

/* What a verb prints on a terminal of so many columns. */
static char *
on_terminal(const char *verb, int columns, const char *variable)
{
	char *inner = th_format("stty cols %d; TERM=xterm %s %s %s %s 2>/dev/null", columns,
		variable, TH_TOOL, verb, recording.log);
	char *output = th_command_output(
		TH_WORDS("script", "-q", "-e", "-c", inner, "/dev/null"));

	free(inner);
	return output;
}

/* Takes out what colours are made of; the text stays in place. */
static void
strip_colours(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (*from == '\033')
			from += strcspn(from, "m") + 1;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

static size_t
longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t bytes = strcspn(text, "\r\n");
		size_t columns = 0;

		for (size_t i = 0; i < bytes; i++)
			columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (columns > longest)
			longest = columns;
		text += bytes + strspn(text + bytes, "\r\n");
	}
	return longest;
}

static void
test_colours_on_a_terminal(void **state)
{
	static const char *const verbs[] = {"summary", "tree"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *coloured = on_terminal(verbs[i], 120, "");
		char *plain = on_terminal(verbs[i], 120, "NO_COLOR=1");

		assert_non_null(strstr(coloured, "\033[34m"));
		assert_non_null(strstr(coloured, "\033[0m"));
		assert_null(strchr(plain, '\033'));
		strip_colours(coloured);
		assert_string_equal(coloured, plain);
		free(coloured);
		free(plain);
	}
}

static void
test_plain_in_a_pipe(void **state)
{
	static const char *const verbs[] = {"summary", "tree"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *output = th_command_output(TH_WORDS(TH_TOOL, verbs[i], recording.log));

		assert_null(strchr(output, '\033'));
		free(output);
	}
}

/* The tree on narrow and wide terminals; in a pipe nothing is cut. */
static void
test_tree_fits_the_terminal(void **state)
{
	(void)state;
	char *narrow = on_terminal("tree", 125, "NO_COLOR=1");
	char *narrower = on_terminal("tree", 80, "NO_COLOR=1");
	char *wide = on_terminal("tree", 500, "NO_COLOR=1");

	assert_non_null(strstr(narrower, "..."));
	assert_in_range(longest_line(narrow), 80, 125);
	assert_in_range(longest_line(narrower), 60, 80);
	assert_true(longest_line(wide) > 125);
	/* Where room is short, intervals are the first to go. */
	assert_null(strstr(narrower, "95 % interval"));
	assert_non_null(strstr(wide, "95 % interval"));
	free(narrow);
	free(narrower);
	free(wide);
}

static void
test_manual(void **state)
{
	(void)state;
	char *warnings = th_command_output(
		TH_WORDS("sh", "-c", "groff -man -Tutf8 -ww -z " MANUAL " 2>&1"));
	char *text = th_command_output(
		TH_WORDS("sh", "-c", "groff -man -Tascii -P-cbou -rLL=100n " MANUAL));

	assert_string_equal(warnings, "");
	assert_non_null(strstr(text, "twinheap flamegraph [OPTIONS] LOG -o FILE.html"));
	assert_non_null(strstr(text, "--temp-within SECONDS"));
	assert_non_null(strstr(text, "TWINHEAP_SEED=N"));
	free(warnings);
	free(text);
}

/* What the shell offers when the words so far are these; the last one is being typed. */
static char *
complete(const char *words)
{
	char *script = th_format(". %s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1));"
				 " _twinheap; echo \"${COMPREPLY[*]}\"",
		COMPLETION, words);
	char *output = th_command_output(TH_WORDS("bash", "-c", script));

	free(script);
	return output;
}

static void
expect_completion(const char *words, const char *expected)
{
	char *output = complete(words);

	assert_string_equal(output, expected);
	free(output);
}

static void
test_completion(void **state)
{
	(void)state;
	expect_completion("twinheap fl", "flamegraph\n");
	expect_completion("twinheap export --form", "--format\n");
	expect_completion("twinheap export --format p", "pprof\n");
	expect_completion("twinheap tree --at ''", "end peak\n");
	expect_completion("twinheap run --follow a", "all\n");
	/* A file where none of this is asked for. */
	expect_completion("twinheap tree " TH_TEST_BUILD "/twinheap.ba", COMPLETION "\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_colours_on_a_terminal),
		cmocka_unit_test(test_plain_in_a_pipe),
		cmocka_unit_test(test_tree_fits_the_terminal),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
