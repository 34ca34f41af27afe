/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses each variable by the type that settings_table.h gives it.  All texts are copied,
 * because a program may overwrite its environment.
 */
#include "preload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/glob.h"
#include "unify/shared/size.h"

struct setting {
	const char *variable;
	enum th_setting_kind kind;
	const char *argument;
	const char *standard;
	uint64_t minimum;
	uint64_t maximum;
};

static const struct setting table[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, standard, minimum, maximum, \
	help)                                                                                 \
	{variable, TH_SETTING_##KIND, argument, standard, minimum, maximum},
	TH_SETTINGS(S)
#undef S
};

/* The position of `word` among the words of `choices`, which are separated by bars. */
static bool
read_choice(const char *word, const char *choices, uint64_t *position_ret)
{
	size_t length = strlen(word);

	for (uint64_t position = 0;; position++) {
		size_t end = strcspn(choices, "|");

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
is_decimal(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
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
	case TH_SETTING_GLOBS:
		return !th_glob_problem(text);
	case TH_SETTING_NUMBER:
		if (!is_decimal(text))
			return false;
		break;
	case TH_SETTING_PERCENT:
		return th_percent_parse(text, number_ret) && *number_ret;
	case TH_SETTING_SECONDS:
		return th_seconds_parse(text, number_ret) && *number_ret >= setting->minimum &&
		       *number_ret <= setting->maximum;
	case TH_SETTING_SIZE:
		break;
	}
	return th_size_parse(text, number_ret) && *number_ret >= setting->minimum &&
	       *number_ret <= setting->maximum;
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

bool
th_settings_read(struct th_settings *settings, char *problem_ret, size_t problem_bytes)
{
	settings->given_bytes = 0;
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *text = getenv(table[i].variable);

		settings->is_given[i] = text && *text;
		settings->text[i] = settings->is_given[i] ? keep(settings, text)
							  : table[i].standard;
		settings->number[i] = 0;
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
