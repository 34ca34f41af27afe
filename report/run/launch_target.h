/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a library can be preloaded into a command.  The kernel and the dynamic linker ignore
 * LD_PRELOAD without a word where it cannot work; users should hear why there is no log.
 */
#ifndef TH_REPORT_RUN_LAUNCH_TARGET_H
#define TH_REPORT_RUN_LAUNCH_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of a launcher, as shells and env(1) have them. */
#define TH_EXIT_USAGE 2
#define TH_EXIT_NOT_EXECUTABLE 126
#define TH_EXIT_NOT_FOUND 127

/* The dynamic linker of this very tool, and of what it can run.  False: it has none. */
bool th_launch_target_linker(char path_ret[PATH_MAX]);

/*
 * Looks at the file that execvp() would run for `command`, and at the interpreter of a script.
 * Returns 0 when it can be profiled, or cannot be read to tell; else an exit status, with the
 * reason as one line.  `program_ret` is the ELF file that will run, "" where that is not known.
 */
int th_launch_target_check(
	const char *command, char program_ret[PATH_MAX], char *reason_ret, size_t reason_bytes);

#endif
