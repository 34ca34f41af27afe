/* SPDX-License-Identifier: Apache-2.0 */
/* leaks and diff over many recordings. */
#ifndef TH_REPORT_MANY_MANY_H
#define TH_REPORT_MANY_MANY_H

#include <stdbool.h>
#include <stddef.h>

#include "report/base/error.h"
#include "report/profile/options.h"

/* Exit status of a report over many logs some of which could not be read. */
#define TH_STATUS_UNREAD 7

/*
 * Whether the operands are to be read as many recordings: there are more than `takes`, which the
 * command reads by itself, or a directory, or --by is given.
 */
bool th_many_is(const struct th_options *options, size_t takes);

/* The path of the log of an operand, to be freed. */
typedef struct th_error *th_many_find(const char *operand, char **path_ret);

/* *status_ret becomes the exit status of a report without errors. */
struct th_error *
th_many_leaks(const struct th_options *options, th_many_find *find, int *status_ret);
struct th_error *
th_many_diff(const struct th_options *options, th_many_find *find, int *status_ret);

#endif
