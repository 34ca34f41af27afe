/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options, variables and help are generated from settings_table.h.  Values are checked
 * here, before the command starts; the library parses them again from its environment.
 */
#include "report/run/launch.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/nearest.h"
#include "unify/shared/heaps.h"
#include "unify/shared/size.h"

/* Values that getopt_long() returns for the options of the table. */
#define FIRST_SETTING_VALUE 256
#define FOR_VALUE (FIRST_SETTING_VALUE + TH_SETTING_COUNT)

struct setting {
	char letter;
	const char *option;
	const char *variable;
	enum th_setting_kind kind;
	enum th_setting_access access;
	const char *argument;
	const char *standard;
	uint64_t minimum;
	uint64_t maximum;
	const char *help;
};

static const struct setting settings[TH_SETTING_COUNT] = {
#define S(NAME, letter, option, variable, KIND, ACCESS, ...) \
	{letter, option, variable, TH_SETTING_##KIND, TH_SETTING_##ACCESS, __VA_ARGS__},
	TH_SETTINGS(S)
#undef S
};

/* Of a process that runs already, the allocator is loaded, and no child is followed. */
static bool
applies(int setting, enum th_launch_command command)
{
	return command == TH_LAUNCH_RUN ||
	       (setting != TH_SETTING_NAME_ALLOCATOR && setting != TH_SETTING_NAME_FOLLOW);
}

static const char *
name_of(enum th_launch_command command)
{
	return command == TH_LAUNCH_RUN ? "run" : "attach";
}

/* Help */

#define HEAD_COLUMNS 29

/*
 * Prints one option or variable: name and argument in the first column, the help in the second, or
 * below if they are too long.
 */
static void
print_setting(const struct setting *setting)
{
	const char *line = setting->help;
	char head[64];

	if (setting->access == TH_SETTING_VARIABLE)
		snprintf(head, sizeof(head), "%s=%s", setting->variable, setting->argument);
	else
		snprintf(head, sizeof(head), "%s%.1s%s--%s%s%s", setting->letter ? "-" : "",
			&setting->letter, setting->letter ? ", " : "    ", setting->option,
			setting->argument[0] ? " " : "", setting->argument);
	printf("  %-*s", HEAD_COLUMNS, head);
	if (strlen(head) > HEAD_COLUMNS)
		printf("\n%*s", HEAD_COLUMNS + 2, "");
	for (;;) {
		int length = (int)strcspn(line, "\n");

		printf(" %.*s", length, line);
		if (line[length] == '\0')
			break;
		printf("\n%*s", HEAD_COLUMNS + 2, "");
		line += length + 1;
	}
	if (setting->standard[0] != '\0')
		printf(" [%s]", setting->standard);
	putchar('\n');
}

static void
print_settings(enum th_setting_access access, enum th_launch_command command)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++)
		if (settings[i].access == access && applies(i, command))
			print_setting(&settings[i]);
}

static void
print_run_help(void)
{
	puts("usage: twinheap run [OPTION...] [--] COMMAND [ARGUMENT...]\n\n"
	     "Runs a command and records allocations in its Java heap and its C heap, and\n"
	     "memory mappings.\n");
	print_settings(TH_SETTING_OPTION, TH_LAUNCH_RUN);
	puts("  -q, --quiet                   print no summary after the run\n"
	     "  -h, --help                    print this help\n\n"
	     "Each option has an environment variable, such as TWINHEAP_OUTPUT for --output,\n"
	     "which is used if the option is not given. By variable only:\n");
	print_settings(TH_SETTING_VARIABLE, TH_LAUNCH_RUN);
	puts("  " TH_LIBRARY_VARIABLE "=FILE         the library to preload\n\n"
	     "The exit status is that of the command; 2 if it was not started because it\n"
	     "cannot be recorded, 126 if it cannot be executed, 127 if it was not found.");
}

static void
print_attach_help(void)
{
	puts("usage: twinheap attach [OPTION...] PID\n\n"
	     "Starts recording in a running Java VM: its Java heap, its C heap, and memory\n"
	     "mappings, from now on. Returns when it records; twinheap detach PID ends it. A\n"
	     "process whose recording is paused, started by twinheap run, is resumed "
	     "instead.\n");
	puts("      --for TIME                records for this long, e.g. 60s, detaches, and\n"
	     "                                prints a summary");
	print_settings(TH_SETTING_OPTION, TH_LAUNCH_ATTACH);
	puts("  -q, --quiet                   print no messages and no summary\n"
	     "  -h, --help                    print this help\n\n"
	     "The same environment variables as for run apply, those of twinheap attach, not\n"
	     "those of the process. A relative name of the log refers to the current\n"
	     "directory, but for a process below another root directory to its own.\n\n"
	     "The VM is asked through its attach mechanism, as by jcmd, without ptrace. From\n"
	     "JDK 21 on it prints three or four lines of WARNING on its stderr.\n"
	     "Exit status: 4 refused or already recorded, 10 another user's process, 11 no\n"
	     "Java VM, 12 -XX:+DisableAttachMechanism, 13 -Xrs, 14 agents are disabled\n"
	     "(-XX:-EnableDynamicAgentLoading), 15 the library could not be loaded.");
}

void
th_launch_options_help(enum th_launch_command command)
{
	if (command == TH_LAUNCH_RUN)
		print_run_help();
	else
		print_attach_help();
}

/* Options */

struct parser {
	char letters[2 * TH_SETTING_COUNT + 8];
	struct option options[TH_SETTING_COUNT + 4];
};

/* The command of `run` has options of its own. */
static void
init_parser(struct parser *parser, enum th_launch_command command)
{
	struct option *option = parser->options;
	char *letter = stpcpy(parser->letters, command == TH_LAUNCH_RUN ? "+:qh" : ":qh");

	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access != TH_SETTING_OPTION || !applies(i, command))
			continue;
		*option++ = (struct option){settings[i].option,
			settings[i].kind == TH_SETTING_FLAG ? no_argument : required_argument,
			NULL, FIRST_SETTING_VALUE + i};
		if (settings[i].letter != 0) {
			*letter++ = settings[i].letter;
			*letter++ = ':';
		}
	}
	*letter = '\0';
	if (command == TH_LAUNCH_ATTACH)
		*option++ = (struct option){"for", required_argument, NULL, FOR_VALUE};
	*option++ = (struct option){"quiet", no_argument, NULL, 'q'};
	*option++ = (struct option){"help", no_argument, NULL, 'h'};
	*option = (struct option){0};
}

/* The setting that getopt_long() found, by option or letter; -1 = none. */
static int
find_setting(int value)
{
	if (value >= FIRST_SETTING_VALUE)
		return value - FIRST_SETTING_VALUE;
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].letter == value && settings[i].access == TH_SETTING_OPTION)
			return i;
	}
	return -1;
}

/* An option that the long one may stand for, as th_nearest_text(). */
static const char *
suggest(const char *text, const char *command)
{
	struct th_nearest nearest;

	th_nearest_init_option(&nearest, text);
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (settings[i].access == TH_SETTING_OPTION)
			th_nearest_offer(&nearest, settings[i].option);
	}
	th_nearest_offer(&nearest, "quiet");
	th_nearest_offer(&nearest, "help");
	return th_nearest_text(&nearest, "--", command);
}

/* The error for a value that getopt_long() rejected.  `value` is ':' or '?'. */
static struct th_error *
fail_option(int value, char **argv, enum th_launch_command command)
{
	int setting = optopt == FOR_VALUE ? -1 : find_setting(optopt);
	const char *name = name_of(command);

	if (value == ':')
		return th_error_create(TH_ERROR_USAGE, "%s: %s requires a value: %s", name,
			argv[optind - 1], setting >= 0 ? settings[setting].argument : "TIME");
	if (optopt != 0 && optopt < FIRST_SETTING_VALUE && find_setting(optopt) < 0)
		return th_error_create(TH_ERROR_USAGE,
			"%s: unknown option -%c (see twinheap %s --help)", name, optopt, name);
	return th_error_create(TH_ERROR_USAGE, "%s: unknown option %s%s", name,
		argv[optind - 1], suggest(argv[optind - 1], name));
}

struct th_error *
th_launch_options_parse(struct th_launch_options *options, int argc, char **argv)
{
	struct parser parser;
	int value;

	init_parser(&parser, options->for_command);
	opterr = 0;
	optind = 0; /* restarts getopt_long() after earlier calls */
	while ((value = getopt_long(argc, argv, parser.letters, parser.options, NULL)) != -1) {
		if (value == ':' || value == '?')
			return fail_option(value, argv, options->for_command);
		if (value == 'q')
			options->is_quiet = true;
		else if (value == 'h')
			options->wants_help = true;
		else if (value == FOR_VALUE)
			options->duration = optarg;
		else
			options->given[find_setting(value)] = optarg ? optarg : "1";
	}
	options->command = argv + optind;
	if (optind == argc && !options->wants_help && options->for_command == TH_LAUNCH_RUN)
		return th_error_create(
			TH_ERROR_USAGE, "run: no command given (see twinheap run --help)");
	return NULL;
}

/* Values */

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
given_value(const struct th_launch_options *options, int setting)
{
	const char *variable = getenv(settings[setting].variable);

	if (options->given[setting])
		return options->given[setting];
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
fail_value(const struct th_launch_options *options, const struct setting *setting,
	const char *text, const char *fault)
{
	char expected[128] = "";
	bool is_option = options->given[setting - settings] != NULL;

	if (setting->maximum != 0)
		describe_range(setting, expected, sizeof(expected));
	else if (setting->kind == TH_SETTING_CHOICE || setting->kind == TH_SETTING_HEAPS)
		snprintf(expected, sizeof(expected), ", expected %s", setting->argument);
	return th_error_create(TH_ERROR_USAGE, "%s%s%s%s: %s%s", is_option ? "--" : "",
		is_option ? setting->option : setting->variable, is_option ? " " : "=", text,
		fault, expected);
}

struct th_error *
th_launch_options_check(const struct th_launch_options *options)
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
th_launch_options_is_given(const struct th_launch_options *options, enum th_setting setting)
{
	return given_value(options, setting) != NULL;
}

const char *
th_launch_options_value(const struct th_launch_options *options, enum th_setting setting)
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
th_launch_options_format(
	const struct th_launch_options *options, char *text_ret, size_t capacity)
{
	*text_ret = '\0';
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		const char *value = given_value(options, i);
		const char *name = settings[i].option[0] ? settings[i].option
							 : settings[i].variable;

		/* Labels of the tool's own environment are not those of the process. */
		if (settings[i].access == TH_SETTING_RESERVED)
			continue;
		if (value && applies(i, options->for_command) &&
			!append_option(text_ret, capacity, name, value))
			return false;
	}
	return true;
}

/* A setting whose default differs under `run`. */
static bool
export_default(
	const struct th_launch_options *options, enum th_setting setting, const char *text)
{
	return given_value(options, setting) ||
	       setenv(settings[setting].variable, text, 1) == 0;
}

bool
th_launch_options_export(const struct th_launch_options *options)
{
	for (int i = 0; i < TH_SETTING_COUNT; i++) {
		if (options->given[i] &&
			setenv(settings[i].variable, options->given[i], 1) != 0)
			return false;
	}
	/* There is no budget by default with a given interval or rate. */
	if (!given_value(options, TH_SETTING_NAME_INTERVAL) &&
		!given_value(options, TH_SETTING_NAME_RATE) &&
		!export_default(options, TH_SETTING_NAME_MAX_OVERHEAD, TH_OVERHEAD_OF_RUN))
		return false;
	return export_default(options, TH_SETTING_NAME_GC_AT_EXIT, "auto");
}
