/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of settings are checked here, before the command starts; the library parses them again from
 * its environment.
 */
#include "report/run/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unify/shared/heaps.h"
#include "unify/shared/size.h"

struct setting {
	const char *option;
	const char *variable;
	enum th_setting_kind kind;
	enum th_setting_access access;
	const char *argument;
	const char *standard;
	uint64_t minimum;
	uint64_t maximum;
};

static const struct setting settings[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, argument, standard, minimum, maximum, \
	help)                                                                                 \
	{option, variable, TH_SETTING_##KIND, TH_SETTING_##ACCESS, argument, standard,        \
		minimum, maximum},
	TH_SETTINGS(S)
#undef S
};

static bool
is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);

	while (*choices != '\0') {
		size_t end = strcspn(choices, "|");

		if (end == length && strncmp(choices, text, length) == 0)
			return true;
		choices += end + (choices[end] == '|');
	}
	return false;
}

/* Whether each part of "KEY=VALUE,..." has a key and a value. */
static bool
has_labels(const char *text)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		size_t key = strcspn(text, "=");

		if (!key || key >= length)
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

/* The problem with the value of a setting; NULL: it is valid. */
static const char *
find_fault(const struct setting *setting, const char *text)
{
	unsigned heaps;
	uint64_t value;

	switch (setting->kind) {
	case TH_SETTING_SIZE:
		if (!th_size_parse(text, &value))
			return "not a size (such as 4096, 512k, 2M, 1G)";
		break;
	case TH_SETTING_NUMBER:
		if (text[strspn(text, "0123456789")] != '\0' || !th_size_parse(text, &value))
			return "not a number";
		break;
	case TH_SETTING_SECONDS:
		if (!th_seconds_parse(text, &value))
			return "not a duration (such as 30s, 5m)";
		break;
	case TH_SETTING_PERCENT:
		if (!th_percent_parse(text, &value))
			return "not a percentage (such as 1%, 0.5%)";
		break;
	case TH_SETTING_CHOICE:
		return is_choice(setting->argument, text) ? NULL : "not one of the choices";
	case TH_SETTING_HEAPS:
		return th_heaps_parse(text, &heaps) ? NULL : "not one of the choices";
	case TH_SETTING_TEXT:
		if (setting == &settings[TH_SETTING_NAME_LABELS] && !has_labels(text))
			return "not a list of labels (such as version=2.4.1,region=eu)";
		return *text != '\0' ? NULL : "empty";
	case TH_SETTING_FLAG:
	default:
		return NULL;
	}
	return value < setting->minimum || value > setting->maximum ? "out of range" : NULL;
}

/*
 * The value given by option or variable; NULL: neither.  An empty variable counts as not set.
 */
static const char *
given_value(const struct th_options *options, int setting)
{
	const char *variable = getenv(settings[setting].variable);

	if (options->settings[setting])
		return options->settings[setting];
	return variable && *variable ? variable : NULL;
}

/* In the form a user would type: "1M" for whole units of a size, else the number. */
static int
describe_number(const struct setting *setting, uint64_t value, char *text, size_t bytes)
{
	static const char units[] = "GMk";

	for (int i = 0; setting->kind == TH_SETTING_SIZE && units[i] != '\0'; i++) {
		uint64_t unit = UINT64_C(1) << (30 - 10 * i);

		if (value > 0 && value % unit == 0)
			return snprintf(text, bytes, "%llu%c",
				(unsigned long long)(value / unit), units[i]);
	}
	return snprintf(text, bytes, "%llu", (unsigned long long)value);
}

/* A maximum equal to that of the type means that there is no limit. */
static void
describe_range(const struct setting *setting, char *text, size_t bytes)
{
	char minimum[24];
	char maximum[24];

	describe_number(setting, setting->minimum, minimum, sizeof(minimum));
	describe_number(setting, setting->maximum, maximum, sizeof(maximum));
	if (setting->maximum >= INT64_MAX)
		snprintf(text, bytes, ", expected at least %s", minimum);
	else
		snprintf(text, bytes, ", expected %s to %s", minimum, maximum);
}

static struct th_error *
fail_value(const struct th_options *options, const struct setting *setting, const char *text,
	const char *fault)
{
	char expected[128] = "";
	bool is_option = options->settings[setting - settings] != NULL;

	if (setting->maximum != 0)
		describe_range(setting, expected, sizeof(expected));
	else if (setting->kind == TH_SETTING_CHOICE || setting->kind == TH_SETTING_HEAPS)
		snprintf(expected, sizeof(expected), ", expected %s", setting->argument);
	return th_error_create(TH_ERROR_USAGE, "%s%s%s%s: %s%s", is_option ? "--" : "",
		is_option ? setting->option : setting->variable, is_option ? " " : "=", text,
		fault, expected);
}

struct th_error *
th_launch_options_check(const struct th_options *options)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *text = given_value(options, i);
		const char *fault = text != NULL ? find_fault(&settings[i], text) : NULL;

		if (fault)
			return fail_value(options, &settings[i], text, fault);
	}
	return NULL;
}

bool
th_launch_options_is_given(const struct th_options *options, enum th_setting setting)
{
	return given_value(options, setting) != NULL;
}

const char *
th_launch_options_value(const struct th_options *options, enum th_setting setting)
{
	const char *text = given_value(options, setting);

	return text != NULL ? text : settings[setting].standard;
}

/* Appends "NAME=VALUE" or ",NAME=VALUE"; false: it does not fit. */
static bool
append_option(char *text, size_t capacity, const char *name, const char *value)
{
	size_t used = strlen(text);

	return snprintf(text + used, capacity - used, "%s%s=%s", used ? "," : "", name, value) <
	       (int)(capacity - used);
}

bool
th_launch_options_format(const struct th_options *options, char *text_ret, size_t capacity)
{
	*text_ret = '\0';
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *value = given_value(options, i);
		const char *name = settings[i].option[0] ? settings[i].option
							 : settings[i].variable;

		/* Labels of the tool's own environment are not those of the process. */
		if (settings[i].access == TH_SETTING_RESERVED ||
			i == TH_SETTING_NAME_ALLOCATOR || i == TH_SETTING_NAME_FOLLOW)
			continue;
		if (value && !append_option(text_ret, capacity, name, value))
			return false;
	}
	return true;
}

/* A setting whose default differs under `run`. */
static bool
export_default(const struct th_options *options, enum th_setting setting, const char *text)
{
	return given_value(options, setting) ||
	       setenv(settings[setting].variable, text, 1) == 0;
}

bool
th_launch_options_export(const struct th_options *options)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (options->settings[i] &&
			setenv(settings[i].variable, options->settings[i], 1) != 0)
			return false;
	}
	/* There is no budget by default with a given interval or rate. */
	if (!given_value(options, TH_SETTING_NAME_INTERVAL) &&
		!given_value(options, TH_SETTING_NAME_RATE) &&
		!export_default(options, TH_SETTING_NAME_MAX_OVERHEAD, TH_OVERHEAD_OF_RUN))
		return false;
	return export_default(options, TH_SETTING_NAME_GC_AT_EXIT, "auto");
}
