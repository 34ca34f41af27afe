/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that read logs, and those that find and control recordings. */
#ifndef TH_REPORT_COMMANDS_COMMANDS_H
#define TH_REPORT_COMMANDS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/base/error.h"
#include "report/control/request.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"

/* Each shows the log of the parsed options, whose `input` is set but for diff. */
typedef struct th_error *th_command(const struct th_options *options);
th_command th_command_summary;
th_command th_command_tree;
th_command th_command_ledger;
th_command th_command_holders;
th_command th_command_rss;
th_command th_command_export;
th_command th_command_flamegraph;
th_command th_command_bundle;
th_command th_command_dump;

/* The same, and sets the exit status that findings have (--fail-on), if there is no error. */
typedef struct th_error *th_judging_command(const struct th_options *options, int *status_ret);
th_judging_command th_command_leaks;
th_judging_command th_command_diff;

/* The same over many recordings. */
th_judging_command th_many_leaks;
th_judging_command th_many_diff;

/*
 * Whether the operands are to be read as many recordings: there are more than `takes`, which the
 * command reads by itself, or a directory, or --by is given.
 */
bool th_many_is(const struct th_options *options, size_t takes);

/* Those of running processes; the texts of their help between its summary and the options. */
th_command th_command_ctl;
th_command th_command_list;
extern const char th_ctl_details[], th_list_details[];

/* Seconds recorded: of a recording that is over until the library last updated its log. */
double th_status_seconds(const struct th_log_header *header);

/*
 * Shows the log of the options in a view that needs nothing but its profile.  `lack` is the text of
 * what is missing in a log that has nothing to show, which is an error; NULL: every log has.
 */
typedef void th_command_view(FILE *file, const struct th_profile *profile);
typedef const char *th_command_lack(const struct th_recording *recording);
struct th_error *th_command_show(
	const struct th_options *options, th_command_view *print, th_command_lack *lack);

#endif
