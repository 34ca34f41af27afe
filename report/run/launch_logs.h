/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of logs as the launcher sees them: what a pattern stands for before the processes are
 * started, and which logs they have left behind.
 */
#ifndef TH_REPORT_RUN_LAUNCH_LOGS_H
#define TH_REPORT_RUN_LAUNCH_LOGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/error.h"

/*
 * `pattern` as an absolute one, to be freed; percent signs of the current directory are doubled.
 */
struct th_error *th_launch_logs_absolute(const char *pattern, char **absolute_ret);

/*
 * Whether a log can be written where the absolute `pattern` says: not if the directory is missing
 * or not writable, or the name holds no %p and is taken.
 */
struct th_error *th_launch_logs_check(const char *pattern);

/* Calls `visit` with each file that has a name of the absolute `pattern`. */
typedef void th_launch_logs_visit(const char *path, void *data);
void th_launch_logs_each(const char *pattern, th_launch_logs_visit *visit, void *data);

/* The directory of the absolute `pattern`. */
void th_launch_logs_directory(const char *pattern, char directory_ret[PATH_MAX]);

struct th_launch_log {
	char *path;
	uint64_t bytes; /* used, not allocated */
	uint32_t pid;
	bool has_jvm;
};

struct th_launch_logs {
	struct th_launch_log *logs;
	size_t logs_count;
	size_t logs_capacity;
};

/*
 * The logs named by the absolute `pattern` that were begun at or after `since` (CLOCK_REALTIME,
 * nanoseconds): those of Java VMs first, then the larger first.
 */
void th_launch_logs_find(const char *pattern, uint64_t since, struct th_launch_logs *ret);
void th_launch_logs_deinit(struct th_launch_logs *logs);

#endif
