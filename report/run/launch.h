/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that start recordings: `run`, `attach`, `detach`, and `doctor`, which tries one; and
 * their parts: options, logs, the command's file, the allocator.
 */
#ifndef TH_REPORT_RUN_LAUNCH_H
#define TH_REPORT_RUN_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "report/control/java_process.h"
#include "report/profile/options.h"
#include "unify/shared/log_format.h"

/*
 * `run`: runs the command of the options.  *status_ret is its exit status, 128 + N if signal N killed
 * it.  Errors: 127 if it was not found, 126 if it cannot be executed, 2 if it was not started because it
 * cannot be profiled.  All output goes to stderr.
 */
struct th_error *th_launch(const struct th_options *options, int *status_ret);

/* Finds the library: TWINHEAP_LIBRARY, or beside the tool. */
struct th_error *th_launch_library(char path_ret[PATH_MAX]);

/* Runs the tool again to print a short summary of the log on stderr. */
void th_launch_summary(char *path);

/* Recording of a Java VM that runs already. */
struct th_error *th_attach(const struct th_options *options);
struct th_error *th_detach(const struct th_options *options);

/* The texts of their help between the summary and the options. */
extern const char th_launch_details[], th_attach_details[], th_detach_details[];
extern const char th_doctor_details[];

/* What works on this machine and what does not, and why; *status_ret is 1 if nothing can be recorded. */
struct th_error *th_doctor(const struct th_options *options, int *status_ret);

/* Settings of `run` and `attach`, from settings_table.h */

/* Names the path of the library, if it is not in the tool's directory. */
#define TH_LIBRARY_VARIABLE "TWINHEAP_LIBRARY"

/* Checks the value of every setting given by option or variable. */
struct th_error *th_launch_options_check(const struct th_options *options);

/* Whether a setting is given by option or variable. */
bool th_launch_options_is_given(const struct th_options *options, enum th_setting setting);

/* The value of a setting: option, else variable, else default ("" = none). */
const char *th_launch_options_value(const struct th_options *options, enum th_setting setting);

/*
 * The options of an agent (preload/settings.h) for the settings given by option or variable, but for
 * those of the start of a process; false: they do not fit.
 */
bool
th_launch_options_format(const struct th_options *options, char *text_ret, size_t capacity);

/*
 * Sets the environment variables for the given options, and those for which `run` has a default
 * of its own.  False: see errno.
 */
bool th_launch_options_export(const struct th_options *options);

/*
 * Names of logs: what a pattern expands to before the processes are started, and which logs they
 * have left.
 */

/*
 * `pattern` as an absolute path, to be freed; percent signs in the current directory are
 * doubled.
 */
struct th_error *th_launch_logs_absolute(const char *pattern, char **absolute_ret);

/*
 * The absolute path of the log of a command, to be freed; also set in the options. If the default
 * name cannot be written, the log goes elsewhere, with a notice; a chosen one is refused.
 */
struct th_error *th_launch_logs_prepare(struct th_options *options, char **absolute_ret);

/* Calls `visit` for each file whose name matches the absolute `pattern`. */
typedef void th_launch_logs_visit(const char *path, void *data);
void th_launch_logs_each(const char *pattern, th_launch_logs_visit *visit, void *data);

/* The directory of the absolute `pattern`. */
void th_launch_logs_directory(const char *pattern, char directory_ret[PATH_MAX]);

struct th_launch_log {
	char *path;
	struct th_log_header header;
};

struct th_launch_logs {
	uint64_t since; /* older logs are left out, CLOCK_REALTIME, ns */
	TH_ARRAY(struct th_launch_log, logs);
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

/*
 * Whether a library can be preloaded into a command.  The kernel and the dynamic linker
 * silently ignore LD_PRELOAD where it cannot work; these checks report the reason instead.
 */

/* Library directory of this architecture on Debian. */
#if defined(__x86_64__)
#	define TH_LAUNCH_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#	define TH_LAUNCH_MULTIARCH "aarch64-linux-gnu"
#endif

struct th_launch_program {
	char path[PATH_MAX]; /* of the ELF file; "" = unknown */
	char linker
		[PATH_MAX]; /* the dynamic linker that it names, of glibc, musl, ...; "" = none */
};

/*
 * Examines the file that execvp() would run for `command`, and the interpreter of a script.
 * NULL if it can be profiled, or is unreadable.
 */
struct th_error *th_launch_target_check(const char *command, struct th_launch_program *ret);

/*
 * The underlying allocator of a command, either requested or brought by the command itself, and
 * the forwarding libraries that it needs (preload/operators.h, preload/mallocx.h).
 */

/*
 * Finds the library of an allocator: jemalloc, tcmalloc, mimalloc, a file name in a library
 * directory, or a path.
 */
struct th_error *th_launch_allocator_find(const char *name, char path_ret[PATH_MAX]);

/*
 * The value of LD_PRELOAD for `program`: `library`, the forwarding libraries beside it that the
 * underlying allocator needs, `allocator` ("" = none) and the previous value `before` ("" =
 * none).
 */
const char *th_launch_allocator_preload(const struct th_launch_program *program,
	const char *library, const char *allocator, const char *before);

#endif
