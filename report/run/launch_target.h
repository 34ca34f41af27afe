/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a library can be preloaded into a command.  The kernel and the dynamic linker ignore
 * LD_PRELOAD without a word where it cannot work; users should hear why there is no log.
 */
#ifndef TH_REPORT_RUN_LAUNCH_TARGET_H
#define TH_REPORT_RUN_LAUNCH_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "report/base/error.h"

/* Directory of the libraries of this processor, as Debian has it. */
#if defined(__x86_64__)
#	define TH_LAUNCH_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#	define TH_LAUNCH_MULTIARCH "aarch64-linux-gnu"
#endif

/* The dynamic linker of this very tool, and of what it can run.  False: it has none. */
bool th_launch_target_linker(char path_ret[PATH_MAX]);

/*
 * Looks at the file that execvp() would run for `command`, and at the interpreter of a script.
 * NULL when it can be profiled, or cannot be read to tell.  `program_ret` is the ELF file that will
 * run, "" where that is not known.
 */
struct th_error *th_launch_target_check(const char *command, char program_ret[PATH_MAX]);

#endif
