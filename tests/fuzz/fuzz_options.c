/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: the options of every command that reads a log, and of `run`.  The first byte
 * of an input chooses the set of options; each line of the rest is a word.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/line.h"
#include "report/profile/options.h"
#include "report/run/launch.h"
#include "report/views/view.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 64

struct words {
	int count;
	char *at[WORDS_MAX + 1];
};

static void
split(char *text, struct words *words)
{
	static char verb[] = "verb";

	words->count = 0;
	words->at[words->count++] = verb;
	while (text && words->count < WORDS_MAX)
		words->at[words->count++] = strsep(&text, "\n");
	words->at[words->count] = NULL;
}

/*
 * glibc's compiler of regular expressions needs memory proportional to the product of nested
 * repetitions, and stack proportional to the depth of groups.  This affects only the user who
 * enters the expression and is not tested here.
 */
static int
is_bomb(const char *text)
{
	size_t repetitions = 0, groups = 0;

	for (; *text; text++) {
		repetitions += *text == '{' || *text == '+' || *text == '*' || *text == '?';
		groups += *text == '(';
	}
	return repetitions > 8 || groups > 50;
}

static void
try_report(struct words *words, unsigned groups)
{
	struct th_options options;
	struct th_error *error = th_options_parse(&options, groups, words->count, words->at);

	/* Not every command requires a log. */
	if (!error && options.log) {
		free(th_options_split_moment(options.log, &options));
		th_view_filters_text(&options);
		th_texts_free();
	}
	th_error_destroy(error);
	th_options_deinit(&options);
}

static void
try_run(struct words *words)
{
	struct th_options options;
	struct th_error *error = th_options_parse(
		&options, TH_OPTIONS_RUN, words->count, words->at);

	if (!error)
		error = th_launch_options_check(&options);
	th_error_destroy(error);
	th_options_deinit(&options);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The options of some commands, of none, of all; other numbers mean `run`. */
	static const unsigned groups[] = {TH_OPTIONS_VIEW | TH_OPTIONS_SELECT,
		TH_OPTIONS_LEAKS | TH_OPTIONS_SELECT | TH_OPTIONS_TIME,
		TH_OPTIONS_DIFF | TH_OPTIONS_SELECT | TH_OPTIONS_VALUE, TH_OPTIONS_EXPORT, 0,
		TH_OPTIONS_OF_LOGS, TH_OPTIONS_CTL, TH_OPTIONS_PUSH};
	struct words words;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (!is_bomb(text)) {
		split(text, &words);
		if (data[0] % 10 < sizeof(groups) / sizeof(groups[0]))
			try_report(&words, groups[data[0] % 10]);
		else
			try_run(&words);
	}
	free(text);
	return 0;
}
