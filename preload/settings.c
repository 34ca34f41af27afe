/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses each variable by the type that settings_table.h gives it.  All texts are copied,
 * because a program may overwrite its environment.
 */
#include "preload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/size.h"

struct setting {
	char option[TH_SETTING_WORD_BYTES]; /* "": by variable only */
	char variable[TH_SETTING_WORD_BYTES];
	char argument[TH_SETTING_WORD_BYTES];
	enum th_setting_kind kind;
	enum th_setting_access access;
	uint64_t minimum;
	uint64_t maximum;
};

static const struct setting table[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, standard, minimum, maximum, \
	help)                                                                                 \
	{option, variable, argument, TH_SETTING_##KIND, TH_SETTING_##ACCESS, minimum, maximum},
	TH_SETTINGS(S)
#undef S
};

/* A word that fills its array would have no terminator. */
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, ...)      \
	_Static_assert(sizeof(option) <= TH_SETTING_WORD_BYTES &&           \
			       sizeof(variable) <= TH_SETTING_WORD_BYTES && \
			       sizeof(argument) <= TH_SETTING_WORD_BYTES,   \
		#NAME ": too long");
TH_SETTINGS(S)
#undef S

/* The values of settings that are not given. */
static const char *const standards[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, standard, ...) standard,
	TH_SETTINGS(S)
#undef S
};

/* The position of `word` among the words of `choices`, which are separated by bars. */
static bool
read_choice(const char *word, const char *choices, uint64_t *position_ret)
{
	size_t length = strlen(word);

	for (uint64_t position = 0;; position++) {
		size_t end = 0;

		/* strcspn() would touch two pages of libc at the start of each process. */
		while (choices[end] && choices[end] != '|')
			end++;
		if (end == length && !strncmp(word, choices, length)) {
			*position_ret = position;
			return true;
		}
		if (!choices[end])
			return false;
		choices += end + 1;
	}
}

static bool
read_heaps(const char *text, uint64_t *number_ret)
{
	unsigned heaps;

	if (!th_heaps_parse(text, &heaps))
		return false;
	*number_ret = heaps;
	return true;
}

static bool
is_in_range(const struct setting *setting, uint64_t number)
{
	return number >= setting->minimum && number <= setting->maximum;
}

static bool
read_value(const struct setting *setting, const char *text, uint64_t *number_ret)
{
	switch (setting->kind) {
	case TH_SETTING_TEXT:
		return true;
	case TH_SETTING_FLAG:
		*number_ret = *text && strcmp(text, "0") != 0;
		return true;
	case TH_SETTING_CHOICE:
		return read_choice(text, setting->argument, number_ret);
	case TH_SETTING_HEAPS:
		return read_heaps(text, number_ret);
	case TH_SETTING_NUMBER:
		return th_number_parse(text, number_ret) && is_in_range(setting, *number_ret);
	case TH_SETTING_PERCENT:
		return th_percent_parse(text, number_ret) && *number_ret;
	case TH_SETTING_SECONDS:
		return th_seconds_parse(text, number_ret) && is_in_range(setting, *number_ret);
	case TH_SETTING_SIZE:
		return th_size_parse(text, number_ret) && is_in_range(setting, *number_ret);
	}
	return false;
}

/* A copy of a value in `settings`; NULL: no space left. */
static const char *
keep(struct th_settings *settings, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = settings->given + settings->given_bytes;

	if (bytes > TH_SETTINGS_BYTES - settings->given_bytes)
		return NULL;
	settings->given_bytes += bytes;
	return memcpy(copy, text, bytes);
}

/* Options of an agent */

static bool
is_name(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

/* The setting that `word` assigns to: "interval=64k"; -1: none. */
static int
find_assigned(const char *word)
{
	size_t length = strcspn(word, "=,");

	if (!length || word[length] != '=')
		return -1;
	for (int i = 0; i < TH_SETTING_COUNT; i++)
		if (is_name(word, length, table[i].option) ||
			is_name(word, length, table[i].variable))
			return i;
	return -1;
}

/* The end of the value at `text`: words that assign to nothing belong to it. */
static const char *
end_of_value(const char *text)
{
	const char *end = text + strcspn(text, ",");

	while (*end && find_assigned(end + 1) < 0)
		end += 1 + strcspn(end + 1, ",");
	return end;
}

/* Copies of the values given by `options`.  False: see `problem_ret`. */
static bool
read_options(struct th_settings *settings, const char *options,
	const char *values[TH_SETTING_COUNT], char *problem_ret, size_t problem_bytes)
{
	while (*options) {
		int setting = find_assigned(options);
		const char *value = options + strcspn(options, "=") + 1;
		char text[TH_SETTINGS_BYTES];

		if (setting < 0) {
			snprintf(problem_ret, problem_bytes, "%.100s: no such option", options);
			return false;
		}
		options = end_of_value(value);
		snprintf(text, sizeof(text), "%.*s", (int)(options - value), value);
		options += *options == ',';
		values[setting] = keep(settings, text);
		if (!values[setting]) {
			snprintf(problem_ret, problem_bytes, "the options are too long");
			return false;
		}
	}
	return true;
}

bool
th_settings_read(struct th_settings *settings, const char *options, char *problem_ret,
	size_t problem_bytes)
{
	const char *values[TH_SETTING_COUNT] = {NULL};

	settings->given_bytes = 0;
	if (options && !read_options(settings, options, values, problem_ret, problem_bytes))
		return false;
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *text = values[i] ? values[i] : getenv(table[i].variable);

		settings->is_given[i] = text && *text;
		settings->is_option[i] = settings->is_given[i] && values[i];
		settings->text[i] = settings->is_given[i] ? keep(settings, text) : standards[i];
		settings->number[i] = 0;
		/* Not ours: too long for the log, it is left out. */
		if (!settings->text[i] && table[i].access == TH_SETTING_RESERVED)
			settings->text[i] = "";
		if (!settings->text[i]) {
			snprintf(problem_ret, problem_bytes, "%s: too long", table[i].variable);
			return false;
		}
		if (!*settings->text[i])
			continue;
		if (!read_value(&table[i], settings->text[i], &settings->number[i])) {
			snprintf(problem_ret, problem_bytes,
				"%s=%.100s: not a value of the form %s", table[i].variable,
				text, table[i].argument);
			return false;
		}
	}
	return true;
}
