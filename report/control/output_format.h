/* SPDX-License-Identifier: Apache-2.0 */
/* Text or JSON, for the commands that parse their own command line. */
#ifndef TH_REPORT_CONTROL_OUTPUT_FORMAT_H
#define TH_REPORT_CONTROL_OUTPUT_FORMAT_H

#include <jansson.h>
#include <stdbool.h>

#include "report/base/error.h"

/* For help texts. */
#define TH_OUTPUT_FORMAT_HELP                                  \
	"      --format FORMAT       text (default) or json\n" \
	"      --json                same as --format json\n"  \
	"  -h, --help                print this help\n"

/*
 * Removes --json and --format FORMAT from the arguments, up to "--".  argv[0] is the name of the
 * command; the arguments end with NULL as before.  TH_ERROR_USAGE: another format.
 */
struct th_error *th_output_format_take(int *argc, char **argv, bool *is_json_ret);

/* A path or a command line, with unprintable characters replaced; a new reference. */
json_t *th_output_json_text(const char *text);

/* Prints a value on stdout and drops the reference to it. */
void th_output_json(json_t *value);

#endif
