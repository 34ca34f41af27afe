/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of logs in the launcher: what a pattern expands to before the processes are started,
 * and which logs they have left.
 */
#ifndef TH_REPORT_RUN_LAUNCH_LOGS_H
#define TH_REPORT_RUN_LAUNCH_LOGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/error.h"

/*
 * `pattern` as an absolute path, to be freed; percent signs in the current directory are
 * doubled.
 */
struct th_error *th_launch_logs_absolute(const char *pattern, char **absolute_ret);

/*
 * Whether a log can be written at the absolute `pattern`: not if the directory is missing or
 * not writable, or if the name contains no %p and already exists.
 */
struct th_error *th_launch_logs_check(const char *pattern);

/*
 * Replaces *absolute, which is freed, by the file name `pattern` in TMPDIR, /tmp or /dev/shm, the
 * first where a log can be written.  False: none.
 */
bool th_launch_logs_elsewhere(const char *pattern, char **absolute);

/*
 * The absolute path of the log of a command, to be freed.  If `pattern` is the default name
 * (`is_chosen` false) and cannot be written, the log goes elsewhere, with a notice; a chosen one is
 * refused.
 */
struct th_error *
th_launch_logs_prepare(const char *pattern, bool is_chosen, char **absolute_ret);

/* Calls `visit` for each file whose name matches the absolute `pattern`. */
typedef void th_launch_logs_visit(const char *path, void *data);
void th_launch_logs_each(const char *pattern, th_launch_logs_visit *visit, void *data);

/* The directory of the absolute `pattern`. */
void th_launch_logs_directory(const char *pattern, char directory_ret[PATH_MAX]);

struct th_launch_log {
	char *path;
	uint64_t bytes; /* used, not allocated */
	uint32_t pid;
	bool has_jvm;
	bool has_samples;
	bool is_alive; /* its process still writes it */
};

struct th_launch_logs {
	struct th_launch_log *logs;
	size_t logs_count;
	size_t logs_capacity;
};

/*
 * The logs matching the absolute `pattern` that were begun at or after `since` (CLOCK_REALTIME,
 * nanoseconds): those of Java VMs first, then in descending size.
 */
void th_launch_logs_find(const char *pattern, uint64_t since, struct th_launch_logs *ret);
void th_launch_logs_deinit(struct th_launch_logs *logs);

/*
 * Removes the files of shells, wrappers and other processes that have ended without a sample,
 * provided that another log has one or is of a Java VM.
 */
void th_launch_logs_remove_empty(struct th_launch_logs *logs);

#endif
