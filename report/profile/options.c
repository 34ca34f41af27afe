/* SPDX-License-Identifier: Apache-2.0 */
/* Options are parsed by getopt_long, with tables generated from those of option_table.h. */
#include "report/profile/options.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/nearest.h"
#include "report/log/recording.h"
#include "report/profile/option_table.h"
#include "unify/shared/clock.h"
#include "unify/shared/heaps.h"

#define DEFAULT_MIN_SHARE 1.0
#define DEFAULT_TOP 10
/* With the heading, a screenful. */
#define DEFAULT_TREE_TOP 20
#define DEFAULT_PARTS 3
/* Groups with a command line of another program behind their own; without an operand of necessity. */
#define TAKES_COMMAND (TH_OPTIONS_RUN | TH_OPTIONS_DOCTOR)
#define NEEDS_NOTHING (TH_OPTIONS_LIST | TH_OPTIONS_PUSH | TH_OPTIONS_DOCTOR)
/* Of an option in the help; longer ones have a line of their own. */
#define HEAD_COLUMNS 24

/* The tables of getopt; `val` is the index of the entry plus 256. */
static void
make_tables(unsigned groups, struct option *longs, char *shorts)
{
	/*
	 * '-' returns operands in their position, '+' stops at the first one, ':' distinguishes a
	 * missing argument from a bad option.
	 */
	*shorts++ = groups & TAKES_COMMAND ? '+' : '-';
	*shorts++ = ':';
	for (size_t i = 0; i < th_option_count; i++) {
		const struct th_option_entry *entry = &th_option_entries[i];
		int has_argument = entry->argument ? required_argument : no_argument;

		if (!(entry->groups & groups))
			continue;
		*longs++ = (struct option){entry->name, has_argument, NULL, 256 + (int)i};
		if (entry->letter) {
			*shorts++ = entry->letter;
			if (entry->argument)
				*shorts++ = ':';
		}
	}
	*longs = (struct option){0};
	*shorts = '\0';
}

static const struct th_option_entry *
find_entry(unsigned groups, int result)
{
	if (result >= 256)
		return &th_option_entries[result - 256];
	for (size_t i = 0; i < th_option_count; i++) {
		if (th_option_entries[i].letter == result &&
			th_option_entries[i].groups & groups)
			return &th_option_entries[i];
	}
	return NULL;
}

/* The option that an unknown one may stand for, as th_nearest_text(). */
static const char *
suggest(unsigned groups, const char *command, const char *text)
{
	struct th_nearest nearest;

	th_nearest_init_option(&nearest, text);
	for (size_t i = 0; i < th_option_count; i++) {
		if (th_option_entries[i].groups & groups)
			th_nearest_offer(&nearest, th_option_entries[i].name);
	}
	return th_nearest_text(&nearest, "--", command);
}

static struct th_error *
bad_option(const char *command, unsigned groups, int result, const char *text)
{
	if (result == ':')
		return th_error_create(TH_ERROR_USAGE,
			"%s: needs an argument, see twinheap %s --help", text, command);
	return th_error_create(
		TH_ERROR_USAGE, "%s: unknown option%s", text, suggest(groups, command, text));
}

static const char *
operand_name(unsigned groups)
{
	return groups & TH_OPTIONS_RUN   ? "command"
	       : groups & TH_OPTIONS_PID ? "process"
					 : "log";
}

static struct th_error *
take_log(struct th_options *options, unsigned groups, const char *command, const char *argument)
{
	size_t most = groups & (TH_OPTIONS_MANY | TH_OPTIONS_CTL) ? SIZE_MAX
		      : groups & TH_OPTIONS_PAGE                  ? 2
								  : !(groups & TH_OPTIONS_LIST);

	th_array_append(options, logs, argument);
	options->log = options->logs[0];
	if (options->logs_count <= most)
		return NULL;
	return most ? th_error_create(TH_ERROR_USAGE,
			      "%s: more than %s %s%s, see twinheap %s --help", argument,
			      most > 1 ? "two" : "one", operand_name(groups),
			      most > 1 ? "s" : "", command)
		    : th_error_create(TH_ERROR_USAGE, "%s: unexpected argument", argument);
}

static struct th_error *
take_result(struct th_options *options, unsigned groups, const char *command, int result)
{
	if (result == 1)
		return take_log(options, groups, command, optarg);
	const struct th_option_entry *entry = find_entry(groups, result);
	return entry->set(options, entry, optarg);
}

/* Whether the next word is a negative number, of a command that takes values of others. */
static bool
is_value(unsigned groups, const char *text)
{
	return groups & TH_OPTIONS_CTL && optind > 0 && text && text[0] == '-' &&
	       text[1] >= '0' && text[1] <= '9';
}

/* Options and the log may be in any order; "--" or a command ends the options. */
static struct th_error *
parse_arguments(struct th_options *options, unsigned groups, int argc, char **argv)
{
	struct option longs[TH_OPTION_ENTRIES_MAX + 1];
	char shorts[2 * TH_OPTION_ENTRIES_MAX + 3];
	struct th_error *error = NULL;

	make_tables(groups, longs, shorts);
	optind = 0; /* glibc: restarts the scan */
	opterr = 0;
	while (!error) {
		const char *text = argv[optind > 0 ? optind : 1];

		if (is_value(groups, text)) {
			error = take_log(options, groups, argv[0], argv[optind++]);
			continue;
		}
		int result = getopt_long(argc, argv, shorts, longs, NULL);

		if (result == -1)
			break;
		if (result == '?' || result == ':')
			return bad_option(argv[0], groups, result, text);
		error = take_result(options, groups, argv[0], result);
	}
	if (groups & TAKES_COMMAND)
		options->command = argv + optind;
	while (!error && optind < argc && !(groups & TAKES_COMMAND))
		error = take_log(options, groups, argv[0], argv[optind++]);
	return error;
}

void
th_options_set_defaults(struct th_options *options)
{
	*options = (struct th_options){
		.heaps = TH_HEAPS_ALL,
		.to = INFINITY,
		.min_share = DEFAULT_MIN_SHARE,
		.top = DEFAULT_TOP,
		.window = 60 * TH_NS_PER_S,
		.timeout = 10 * TH_NS_PER_S,
		.patience = 60 * TH_NS_PER_S,
	};
}

struct th_error *
th_options_parse(struct th_options *options, unsigned groups, int argc, char **argv)
{
	th_options_set_defaults(options);
	if (groups & TH_OPTIONS_RSS)
		options->top = DEFAULT_PARTS;
	if (groups & TH_OPTIONS_TREE)
		options->top = DEFAULT_TREE_TOP;
	struct th_error *error = parse_arguments(options, groups, argc, argv);

	if (error || options->help)
		return error;
	bool has_operand = groups & TH_OPTIONS_RUN ? *options->command != NULL
						   : options->log != NULL;
	if (!has_operand && !(groups & NEEDS_NOTHING))
		return th_error_create(TH_ERROR_USAGE,
			"%s: no %s given, see twinheap %s --help", argv[0],
			operand_name(groups), argv[0]);
	if ((groups & TH_OPTIONS_TREE) && options->has_min && !options->has_top)
		options->top = UINT64_MAX;
	if (options->from >= options->to)
		return th_error_create(TH_ERROR_USAGE, "--from must be less than --to");
	if ((options->old_group || options->new_group) && !options->by)
		return th_error_create(TH_ERROR_USAGE, "--old and --new require --by");
	if (options->limit && options->fail_on == TH_FAIL_NEVER)
		return th_error_create(TH_ERROR_USAGE, "--limit requires --fail-on");
	return NULL;
}

static void
deinit_pattern(struct th_pattern *pattern)
{
	if (pattern->is_given)
		regfree(&pattern->regex);
	pattern->is_given = false;
}

void
th_options_deinit(struct th_options *options)
{
	deinit_pattern(&options->thread);
	deinit_pattern(&options->class_name);
	deinit_pattern(&options->include);
	deinit_pattern(&options->exclude);
	deinit_pattern(&options->focus);
	deinit_pattern(&options->hide);
	th_labels_deinit(&options->label);
	th_labels_deinit(&options->only);
	free(options->input);
	free(options->logs);
	options->input = NULL;
	options->logs = NULL;
}

char *
th_options_split_moment(const char *operand, struct th_options *options)
{
	const char *at = strrchr(operand, '@');

	if (at && th_option_parse_moment(at + 1, options))
		return th_format_new("%.*s", (int)(at - operand), operand);
	return th_format_new("%s", operand);
}

bool
th_options_writes_stdout(const struct th_options *options)
{
	return !options->output || !strcmp(options->output, "-");
}

bool
th_options_filter_stacks(const struct th_options *options)
{
	return options->thread.is_given || options->class_name.is_given ||
	       options->include.is_given || options->exclude.is_given ||
	       options->focus.is_given;
}

bool
th_options_shape_stacks(const struct th_options *options)
{
	return options->focus.is_given || options->hide.is_given || options->group_by;
}

bool
th_pattern_matches(const struct th_pattern *pattern, const char *text)
{
	return !pattern->is_given || !regexec(&pattern->regex, text, 0, NULL, 0);
}

/* Marks */

static struct th_error *
resolve_mark(const struct th_recording *recording, const char *log, const char *name,
	double *seconds_ret)
{
	uint64_t time;

	if (!name)
		return NULL;
	if (!th_recording_find_mark(recording, name, &time))
		return th_error_create(TH_ERROR_USAGE, "%s: has no mark \"%s\"", log, name);
	*seconds_ret = (double)(time - recording->start) / 1e9;
	return NULL;
}

static struct th_error *
resolve_marks(const struct th_recording *recording, struct th_options *options)
{
	const char *log = options->log;
	struct th_error *error = resolve_mark(
		recording, log, options->from_mark, &options->from);

	if (!error)
		error = resolve_mark(recording, log, options->to_mark, &options->to);
	if (!error)
		error = resolve_mark(recording, log, options->at_mark, &options->at_seconds);
	if (!error && options->from >= options->to)
		error = th_error_create(TH_ERROR_USAGE, "--from must be before --to");
	return error;
}

struct th_error *
th_options_resolve_marks(struct th_options *options)
{
	struct th_recording *recording;

	if (!options->from_mark && !options->to_mark && !options->at_mark)
		return NULL;
	struct th_error *error = th_recording_load(options->input, &recording);
	if (error)
		return error;
	error = resolve_marks(recording, options);
	th_recording_destroy(recording);
	return error;
}

/* Help */

static void
print_entry(FILE *file, const struct th_option_entry *entry)
{
	bool is_variable = entry->groups == TH_OPTIONS_VARIABLES;
	bool has_standard = entry->standard && *entry->standard;
	const char *argument = entry->argument ? entry->argument : "";
	const char *line = entry->help;
	char left[64];

	if (is_variable)
		snprintf(left, sizeof(left), "%s=%s", entry->name, argument);
	else
		snprintf(left, sizeof(left), "%s%.1s%s--%s%s%s", entry->letter ? "-" : "",
			&entry->letter, entry->letter ? ", " : "    ", entry->name,
			*argument ? " " : "", argument);
	if (strlen(left) > HEAD_COLUMNS) {
		fprintf(file, "  %s\n", left);
		left[0] = '\0';
	}
	for (;;) {
		int length = (int)strcspn(line, "\n");

		fprintf(file, "  %-*s  %.*s", HEAD_COLUMNS, left, length, line);
		if (!line[length])
			break;
		fputc('\n', file);
		line += length + 1;
		left[0] = '\0';
	}
	fprintf(file, has_standard ? " [%s]\n" : "\n", entry->standard);
}

void
th_options_print_help(FILE *file, unsigned groups)
{
	for (size_t i = 0; i < th_option_count; i++) {
		if (th_option_entries[i].groups & groups)
			print_entry(file, &th_option_entries[i]);
	}
}
