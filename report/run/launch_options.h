/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `twinheap run`, their variables and their help; all from settings_table.h. */
#ifndef TH_REPORT_RUN_LAUNCH_OPTIONS_H
#define TH_REPORT_RUN_LAUNCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/base/error.h"
#include "unify/shared/settings_table.h"

/* Names the path of the library, if it is not in the tool's directory. */
#define TH_LIBRARY_VARIABLE "TWINHEAP_LIBRARY"

/* What differs between the commands `run` and `attach`. */
enum th_launch_command { TH_LAUNCH_RUN, TH_LAUNCH_ATTACH };

struct th_launch_options {
	enum th_launch_command for_command;
	const char *given[TH_SETTING_COUNT]; /* by option, not by variable; NULL: not given */
	bool is_quiet;
	bool wants_help;
	const char *duration; /* attach --for; NULL: not given */
	char **command;       /* NULL-terminated; empty only when help is requested */
};

/*
 * Parses the command line of options->for_command, which the caller sets.  The operands are in
 * options->command.
 */
struct th_error *
th_launch_options_parse(struct th_launch_options *options, int argc, char **argv);

/* Checks the value of every setting given by option or variable. */
struct th_error *th_launch_options_check(const struct th_launch_options *options);

/* Whether a setting is given by option or variable. */
bool
th_launch_options_is_given(const struct th_launch_options *options, enum th_setting setting);

/* The value of a setting: option, else variable, else default ("" = none). */
const char *
th_launch_options_value(const struct th_launch_options *options, enum th_setting setting);

/*
 * The options of an agent (preload/settings.h) for the settings given by option or variable; false:
 * they do not fit.
 */
bool th_launch_options_format(
	const struct th_launch_options *options, char *text_ret, size_t capacity);

/*
 * Sets the environment variables for the given options, and those for which `run` has a default
 * of its own.  False: see errno.
 */
bool th_launch_options_export(const struct th_launch_options *options);

/* Prints the help of the command on stdout. */
void th_launch_options_help(enum th_launch_command command);

#endif
