/* SPDX-License-Identifier: Apache-2.0 */
#include "report/control/output_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/log_text.h"

/* Nanoseconds, for a recording of a year. */
#define REAL_DIGITS 16

static struct th_error *
read_format(const char *command, const char *text, bool *is_json_ret)
{
	*is_json_ret = text && !strcmp(text, "json");
	if (*is_json_ret || (text && !strcmp(text, "text")))
		return NULL;
	return th_error_create(TH_ERROR_USAGE, "%s: --format %s: expected text or json",
		command, text ? text : "");
}

struct th_error *
th_output_format_take(int *argc, char **argv, bool *is_json_ret)
{
	struct th_error *error = NULL;
	int kept = 1, at = 1;

	*is_json_ret = false;
	for (; at < *argc && !error && strcmp(argv[at], "--") != 0; at++) {
		if (!strcmp(argv[at], "--json"))
			*is_json_ret = true;
		else if (!strncmp(argv[at], "--format=", 9))
			error = read_format(argv[0], argv[at] + 9, is_json_ret);
		else if (!strcmp(argv[at], "--format"))
			error = read_format(
				argv[0], at + 1 < *argc ? argv[++at] : NULL, is_json_ret);
		else
			argv[kept++] = argv[at];
	}
	/* The "--" itself is no argument. */
	for (at++; at < *argc; at++)
		argv[kept++] = argv[at];
	argv[kept] = NULL;
	*argc = kept;
	return error;
}

json_t *
th_output_json_text(const char *text)
{
	char *clean = th_text_clean(th_text_of(text));
	json_t *value = json_string(clean);

	free(clean);
	return value;
}

void
th_output_json(json_t *value)
{
	if (!value ||
		json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(REAL_DIGITS)))
		th_out_of_memory();
	putchar('\n');
	json_decref(value);
}
