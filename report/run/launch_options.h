/* SPDX-License-Identifier: Apache-2.0 */
/* Options of `twinheap run`, their variables and their help; all from settings_table.h. */
#ifndef TH_REPORT_RUN_LAUNCH_OPTIONS_H
#define TH_REPORT_RUN_LAUNCH_OPTIONS_H

#include <stdbool.h>

#include "report/base/error.h"
#include "unify/shared/settings_table.h"

/* Names the path of the library, if it is not in the tool's directory. */
#define TH_LIBRARY_VARIABLE "TWINHEAP_LIBRARY"

struct th_launch_options {
	const char *given[TH_SETTING_COUNT]; /* by option, not by variable; NULL: not given */
	bool is_quiet;
	bool wants_help;
	char **command; /* NULL-terminated; empty only when help is requested */
};

/* Parses the command line of `run`. */
struct th_error *
th_launch_options_parse(struct th_launch_options *options, int argc, char **argv);

/* Checks the value of every setting given by option or variable. */
struct th_error *th_launch_options_check(const struct th_launch_options *options);

/* The value of a setting: option, else variable, else default ("" = none). */
const char *
th_launch_options_value(const struct th_launch_options *options, enum th_setting setting);

/*
 * Sets the environment variables for the given options, and those for which `run` has a default
 * of its own.  False: see errno.
 */
bool th_launch_options_export(const struct th_launch_options *options);

/* Prints the help on stdout. */
void th_launch_options_help(void);

#endif
