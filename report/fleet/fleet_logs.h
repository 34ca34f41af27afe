/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of a directory. */
#ifndef TH_REPORT_FLEET_FLEET_LOGS_H
#define TH_REPORT_FLEET_FLEET_LOGS_H

#include <stdbool.h>

#include "report/base/error.h"
#include "report/log/recording.h"

struct th_fleet_logs {
	TH_ARRAY(char *, paths);
};

/*
 * Appends the logs in a directory and those below it, sorted by path: regular files that end in
 * ".thl" or ".thl.gz". Links to directories are not followed. An error if there are none or the
 * directory cannot be read; directories below it that cannot be read are left out, with a line on
 * stderr.
 */
struct th_error *th_fleet_logs_find(struct th_fleet_logs *logs, const char *directory);

/* Appends a path. */
void th_fleet_logs_add(struct th_fleet_logs *logs, const char *path);

void th_fleet_logs_deinit(struct th_fleet_logs *logs);

/* Whether a path is a directory. */
bool th_fleet_logs_is_directory(const char *path);

#endif
