/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's output on a terminal: colors and lines that fit, plain text elsewhere, a manual
 * without errors, and completion that knows the options.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPLETION TH_TEST_BUILD "/twinheap.bash"

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

/* The output of a command on a terminal of that width. */
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

/* Removes color sequences; the text is unchanged. */
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

/* The tree on narrow and wide terminals; in a pipe nothing is truncated. */
static void
test_tree_fits_the_terminal(void **state)
{
	(void)state;
	char *narrow = on_terminal("tree", 125, "NO_COLOR=1");
	char *narrower = on_terminal("tree", 60, "NO_COLOR=1");
	char *wide = on_terminal("tree", 500, "NO_COLOR=1");

	assert_non_null(strstr(narrower, "..."));
	assert_in_range(longest_line(narrow), 80, 125);
	assert_in_range(longest_line(narrower), 50, 60);
	assert_true(longest_line(wide) > 125);
	/* Where room is short, intervals are the first to go, then shares. */
	assert_null(strstr(narrow, "95 % CI"));
	assert_non_null(strstr(narrow, "share"));
	assert_null(strstr(narrower, "share"));
	assert_non_null(strstr(narrower, "    bytes       bytes       bytes   call path"));
	assert_non_null(strstr(wide, "95 % CI"));
	assert_non_null(strstr(wide, "share"));
	free(narrow);
	free(narrower);
	free(wide);
}

/* The longest line, without those that end in the name of a log: they are commands to copy. */
static size_t
longest_text(const char *text)
{
	size_t longest = 0;

	for (const char *line = text; *line;) {
		size_t bytes = strcspn(line, "\r\n");
		char *copy = th_format("%.*s", (int)bytes, line);
		size_t columns = longest_line(copy);

		if (bytes < 4 || memcmp(line + bytes - 4, ".thl", 4) != 0)
			longest = columns > longest ? columns : longest;
		free(copy);
		line += bytes + strspn(line + bytes, "\r\n");
	}
	return longest;
}

/* What follows the verb on a command line, before the log. */
static const char *const texts[] = {"summary", "summary --brief", "tree", "tree --threads",
	"tree --min 0", "leaks", "rss --top 100",
	"summary --value live-bytes --group-by class"};

/* Every view fits 80 columns, and uses the 160 of a wider terminal. */
static void
test_views_fit_the_terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *narrow = on_terminal(texts[i], 80, "NO_COLOR=1");
		char *wide = on_terminal(texts[i], 160, "NO_COLOR=1");

		if (longest_text(narrow) > 80)
			fail_msg("%zu columns in\n%s", longest_text(narrow), narrow);
		if (longest_text(wide) > 160 || longest_text(wide) <= 80)
			fail_msg("%zu columns in\n%s", longest_text(wide), wide);
		free(narrow);
		free(wide);
	}
}

/* diff leaves out intervals where the names would have no room. */
static void
test_diff_fits_the_terminal(void **state)
{
	char *verb = th_format("diff %s@1", recording.log);
	char *narrow = on_terminal(verb, 80, "NO_COLOR=1");
	char *wide = on_terminal(verb, 160, "NO_COLOR=1");

	(void)state;
	assert_in_range(longest_text(narrow), 60, 80);
	assert_in_range(longest_text(wide), 81, 160);
	assert_null(strstr(narrow, "95 % CI"));
	assert_non_null(strstr(narrow, "..."));
	assert_non_null(strstr(wide, "95 % CI"));
	free(verb);
	free(narrow);
	free(wide);
}

/* The verdict has a color besides its words; --color outweighs the terminal and NO_COLOR. */
static void
test_color_option(void **state)
{
	char *leaks = on_terminal("leaks --all", 120, "");
	char *never = on_terminal("leaks --all --color never", 120, "");
	char *always = th_command_output(TH_WORDS("env", "NO_COLOR=1", TH_TOOL, "leaks",
		"--all", "--color", "always", recording.log));
	char *pipe = th_command_output(TH_WORDS(TH_TOOL, "leaks", "--all", recording.log));

	(void)state;
	assert_non_null(strstr(leaks, "\033[1;32mplateau \033[0m "));
	assert_null(strchr(never, '\033'));
	assert_non_null(strstr(always, "\033[1;32mplateau \033[0m "));
	strip_colours(always);
	assert_string_equal(always, pipe);
	free(leaks);
	free(never);
	free(always);
	free(pipe);
}

/* The same from a pipe, from a redirected file, and to a file or standard output. */
static void
test_standard_streams(void **state)
{
	char *expected, *piped, *redirected;

	(void)state;
	char *command = th_format("%s leaks --json %s", TH_TOOL, recording.log);
	expected = th_command_output(TH_WORDS("sh", "-c", command));
	free(command);
	command = th_format("cat %s | %s leaks --format json -", recording.log, TH_TOOL);
	piped = th_command_output(TH_WORDS("sh", "-c", command));
	free(command);
	command = th_format("%s leaks --json - < %s", TH_TOOL, recording.log);
	redirected = th_command_output(TH_WORDS("sh", "-c", command));
	free(command);
	assert_string_equal(piped, expected);
	assert_string_equal(redirected, expected);
	free(expected);
	free(piped);
	free(redirected);
	expected = th_command_output(
		TH_WORDS(TH_TOOL, "export", "--format", "collapsed", recording.log));
	piped = th_command_output(
		TH_WORDS(TH_TOOL, "export", "--format", "collapsed", "-o", "-", recording.log));
	assert_string_equal(piped, expected);
	free(expected);
	free(piped);
	/* A bundle through a pipe is a log like any other. */
	command = th_format(
		"%s bundle %s -o - | %s summary - --json", TH_TOOL, recording.log, TH_TOOL);
	piped = th_command_output(TH_WORDS("sh", "-c", command));
	assert_non_null(strstr(piped, "\"twinheap\""));
	free(command);
	free(piped);
}

/* A process in place of its log, which contains what it allocated until then. */
static void
test_process_for_a_log(void **state)
{
	static const char *const verbs[] = {"summary", "tree --min 0", "dump", "diff $pid@0"};

	(void)state;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		const char *directory = th_temporary_directory();
		char *script = th_format("cd %s; LD_PRELOAD=%s TWINHEAP_FOLLOW=all "
					 "TWINHEAP_INTERVAL=0 TWINHEAP_OUTPUT=a.thl perl -e "
					 "'$kept = q(x) x 5e6; $| = 1; print qq(ready\\n); "
					 "sleep 20' > ready & pid=$!; cd %s; "
					 "until [ -s ready ]; do sleep 0.05; done; "
					 "%s %s $pid; status=$?; kill $pid; exit $status",
			directory, TH_LIBRARY, directory, TH_TOOL, verbs[i]);
		char *output = th_command_output(TH_WORDS("bash", "-c", script));

		assert_non_null(strstr(output, i == 3 ? "+4.7" : "erl"));
		free(output);
		free(script);
	}
}

/* Help texts fit into 80 columns. */
static void
test_helps_fit(void **state)
{
	static const char *const verbs[] = {"run", "summary", "tree", "leaks", "rss", "export",
		"flamegraph", "diff", "ctl", "list", "live", "bundle", "dump", "attach",
		"detach", "doctor"};

	(void)state;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		char *help = th_command_output(TH_WORDS(TH_TOOL, verbs[i], "--help"));

		assert_non_null(strstr(help, "usage: twinheap "));
		if (longest_line(help) > 80)
			fail_msg("%zu columns in\n%s", longest_line(help), help);
		free(help);
	}
}

/* Progress */

/* The tool reads the clock once per 4,096 records, stacks and samples. */
#define MANY_BLOCKS "100000"

/* A log that takes several clock reads to process. */
static const char *
many_records(void)
{
	static char *log;

	if (log)
		return log;
	log = th_format("%s/much.thl", th_temporary_directory());
	char *output = th_format("TWINHEAP_OUTPUT=%s", log);
	char *text = th_command_output(
		TH_WORDS("env", "LD_PRELOAD=" TH_LIBRARY, "TWINHEAP_FOLLOW=all",
			"TWINHEAP_INTERVAL=0", "TWINHEAP_DEPTH=4", output, "perl", "-e",
			"for (1.." MANY_BLOCKS ") { push @kept, 'x' x (100 + $_ % 900);"
			" shift @kept if @kept > 9 }"));

	free(text);
	free(output);
	return log;
}

/* The complete terminal output of summary when each clock read is one second later. */
static char *
slowly(const char *log, int columns, const char *settings, const char *redirection)
{
	char *inner = th_format("stty cols %d; export NO_COLOR=1 TERM=xterm %s; LD_PRELOAD=%s "
				"%s summary %s %s",
		columns, settings, TH_TEST_BUILD "/tests/programs/libfast_clock.so", TH_TOOL,
		log, redirection);
	char *output = th_command_output(
		TH_WORDS("script", "-q", "-e", "-c", inner, "/dev/null"));

	free(inner);
	return output;
}

/* Renders terminal output: the final text, to be freed, and the longest line ever shown. */
static char *
draw(const char *from, size_t *longest_ret)
{
	char *screen = calloc(strlen(from) + 1, 1);
	size_t line = 0, column = 0, length = 0;

	assert_non_null(screen);
	*longest_ret = 0;
	for (; *from; from++) {
		if (*from == '\r') {
			column = 0;
		} else if (*from == '\n') {
			line += length;
			screen[line++] = '\n';
			column = length = 0;
		} else if (!strncmp(from, "\033[K", 3)) {
			memset(screen + line + column, 0, length - column);
			length = column;
			from += 2;
		} else {
			screen[line + column++] = *from;
			length = column > length ? column : length;
		}
		*longest_ret = length > *longest_ret ? length : *longest_ret;
	}
	return screen;
}

/* On a terminal of that width these texts are shown in turn, and then removed. */
static void
expect_progress(const char *log, int columns, const char *const *expected)
{
	char *output = slowly(log, columns, "", ">/dev/null");
	const char *found = output;
	size_t longest;

	for (; *expected; expected++) {
		found = strstr(found, *expected);
		if (!found)
			fail_msg("no '%s' in %d columns:\n%s", *expected, columns, output);
	}
	char *screen = draw(output, &longest);
	assert_in_range(longest, 1, columns - 1);
	assert_string_equal(screen, "");
	free(screen);
	free(output);
}

static void
test_progress(void **state)
{
	const char *log = many_records();

	(void)state;
	expect_progress(log, 120,
		TH_WORDS("\rreading the log          [###", "] ", " %", "\r\033[K",
			"\rsumming up               [###", " %", "\r\033[K"));
	expect_progress(log, 64, TH_WORDS("\rreading the log          [##"));
	/* If there is no room for a bar, a number is shown. */
	expect_progress(
		log, 63, TH_WORDS("\rreading the log           ", " %", "\rsumming up "));
}

/* The output is the same as without progress, and nothing remains of the bar. */
static void
test_progress_damages_nothing(void **state)
{
	const char *log = many_records();
	char *plain = th_command_output(TH_WORDS(TH_TOOL, "summary", log));
	char *output = slowly(log, 400, "", "");
	size_t longest;

	(void)state;
	assert_non_null(strstr(output, "\rsumming up "));
	char *screen = draw(output, &longest);
	assert_string_equal(screen, plain);
	free(screen);
	free(output);
	free(plain);
}

/* If it could not be seen, or could not be removed. */
static void
test_no_progress(void **state)
{
	static const struct {
		int columns;
		const char *settings;
		const char *redirection;
	} cases[] = {
		{120, "", "2>&1 | cat"},
		{120, "", "2>/dev/null"},
		{120, "TERM=dumb", ""},
		{120, "TERM=", ""},
		{30, "", ""},
	};
	const char *log = many_records();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *output = slowly(
			log, cases[i].columns, cases[i].settings, cases[i].redirection);

		assert_non_null(strstr(output, "native heap"));
		assert_null(strstr(output, "reading the log"));
		assert_null(strstr(output, "summing up"));
		assert_null(strchr(output, '\033'));
		free(output);
	}
}

/* Manual and completion */

/* Sentences break between words, and continue on the next line. */
static void
test_sentences_fit_the_terminal(void **state)
{
	char *output = on_terminal("leaks", 100, "NO_COLOR=1");
	char *wide = on_terminal("leaks", 1000, "NO_COLOR=1");

	(void)state;
	for (char *why = output; (why = strstr(why, "         why    ")); why++) {
		size_t first = strcspn(why, "\r");
		const char *next = why + first + 2;

		assert_in_range(first, 16, 100);
		if (!strncmp(next, "                ", 16))
			assert_in_range(strcspn(next, "\r"), 17, 100);
	}
	assert_non_null(strstr(output, "\r\n                "));
	for (char *why = wide; (why = strstr(why, "         why    ")); why++)
		assert_int_not_equal(
			strncmp(why + strcspn(why, "\r") + 2, "                ", 16), 0);
	free(output);
	free(wide);
}

/* A page of the manual as text; groff has nothing to complain about. */
static char *
read_page(const char *name)
{
	char *path = th_format(TH_TEST_BUILD "/%s.1", name);
	char *warnings = th_command_output(
		TH_WORDS("sh", "-c", "groff -man -Tutf8 -ww -z \"$0\" 2>&1", path));
	char *text = th_command_output(
		TH_WORDS("sh", "-c", "groff -man -Tascii -P-cbou -rLL=100n \"$0\"", path));

	assert_string_equal(warnings, "");
	free(warnings);
	free(path);
	return text;
}

static void
expect_in_page(const char *name, const char *expected)
{
	char *text = read_page(name);

	if (!strstr(text, expected))
		fail_msg("no \"%s\" in %s(1):\n%s", expected, name, text);
	free(text);
}

static void
test_manual(void **state)
{
	(void)state;
	expect_in_page("twinheap", "twinheap flamegraph [OPTIONS] [OLD] LOG|PID -o FILE.html");
	expect_in_page("twinheap", "TWINHEAP_SEED=N");
	expect_in_page("twinheap", "twinheap-leaks(1)");
	expect_in_page("twinheap-summary", "--thread RE");
	expect_in_page("twinheap-run", "TWINHEAP_SEED=N");
	expect_in_page("twinheap-ctl", "interval BYTES");
	expect_in_page("twinheap-leaks", "leaks --fail-on: inconclusive");
	expect_in_page("twinheap-attach", "attach: the VM has -Xrs");
}

/* Each command of the help has a page, with the synopsis of its own help. */
static void
test_page_for_each_command(void **state)
{
	char *names = th_command_output(
		TH_WORDS("sh", "-c", TH_TOOL " --help | sed -n 's/^  \\([a-z]*\\)  .*/\\1/p'"));
	size_t count = 0;

	(void)state;
	for (char *name = strtok(names, "\n"); name; name = strtok(NULL, "\n")) {
		char *page = th_format("twinheap-%s", name);
		char *usage = th_format("twinheap %s", name);

		expect_in_page(page, usage);
		free(usage);
		free(page);
		count++;
	}
	assert_true(count >= 15);
	free(names);
}

/* The completions for these words; the last one is incomplete. */
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
	expect_completion("twinheap tree --at ''", "end exit peak\n");
	expect_completion("twinheap run --follow a", "all\n");
	expect_completion("twinheap tree --heaps map", "mapped\n");
	/* A file if no other completion applies. */
	expect_completion("twinheap tree " TH_TEST_BUILD "/twinheap.ba", COMPLETION "\n");
}

static char *
read_built(const char *name)
{
	char *path = th_format(TH_TEST_BUILD "/%s", name);
	char *text = th_command_output(TH_WORDS("cat", path));

	free(path);
	return text;
}

/* The other shells know the same verbs, options and choices. */
static void
test_completions_of_other_shells(void **state)
{
	char *zsh = read_built("_twinheap");
	char *fish = read_built("twinheap.fish");

	(void)state;
	assert_non_null(strstr(zsh, "#compdef twinheap\n"));
	assert_non_null(strstr(zsh, "'flamegraph:self-contained HTML page for a browser'"));
	assert_non_null(strstr(zsh, "'--color[auto]:WHEN:(auto always never)'"));
	assert_non_null(strstr(fish, "-a leaks -d 'memory that is retained or leaked"));
	assert_non_null(strstr(fish, "'__fish_seen_subcommand_from tree' -l at -x -a 'end exit "
				     "peak'"));
	free(zsh);
	free(fish);
}

/* What terminals of 80 and 160 columns show is as recorded, colors included. */
static void
test_recordings(void **state)
{
	char *made = th_format("%s/recordings", recording.directory);
	char *script = th_format(TH_TEST_SOURCE
		"/scripts/record-terminal " TH_TEST_BUILD " %s && diff -ru " TH_TEST_SOURCE
		"/tests/e2e/recordings %s || echo 'intended? then run scripts/record-terminal'",
		made, made);
	char *difference = th_command_output(TH_WORDS("sh", "-c", script));

	(void)state;
	assert_string_equal(difference, "");
	free(difference);
	free(script);
	free(made);
}

/* The recordings fit, and what continues a labeled line is below its text. */
static void
test_recordings_fit(void **state)
{
	(void)state;
	for (int columns = 80; columns <= 160; columns += 80) {
		char *script = th_format(
			"cat " TH_TEST_SOURCE "/tests/e2e/recordings/*.%d", columns);
		char *text = th_command_output(TH_WORDS("sh", "-c", script));

		strip_colours(text);
		assert_in_range(longest_line(text), 70, columns);
		assert_non_null(strstr(text, "\nleak     native, "));
		if (columns == 80)
			assert_non_null(strstr(text, "\n         app.part"));
		free(text);
		free(script);
	}
}

/* The manual has the exit statuses of the help. */
static void
test_exit_statuses(void **state)
{
	char *help = th_command_output(TH_WORDS(TH_TOOL, "--help"));
	char *manual = read_built("twinheap.1");

	(void)state;
	assert_non_null(strstr(help, "\n    3    unreadable input\n"));
	assert_non_null(strstr(manual, ".TP\n3\nunreadable input\n"));
	assert_non_null(strstr(manual, ".TP\n127\nrun: the command was not found\n"));
	free(help);
	free(manual);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_colours_on_a_terminal),
		cmocka_unit_test(test_plain_in_a_pipe),
		cmocka_unit_test(test_tree_fits_the_terminal),
		cmocka_unit_test(test_views_fit_the_terminal),
		cmocka_unit_test(test_diff_fits_the_terminal),
		cmocka_unit_test(test_color_option),
		cmocka_unit_test(test_standard_streams),
		cmocka_unit_test(test_process_for_a_log),
		cmocka_unit_test(test_sentences_fit_the_terminal),
		cmocka_unit_test(test_helps_fit),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_progress_damages_nothing),
		cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_page_for_each_command),
		cmocka_unit_test(test_completion),
		cmocka_unit_test(test_completions_of_other_shells),
		cmocka_unit_test(test_exit_statuses),
		cmocka_unit_test(test_recordings),
		cmocka_unit_test(test_recordings_fit),
	};

	return cmocka_run_group_tests(tests, record, forget);
}
