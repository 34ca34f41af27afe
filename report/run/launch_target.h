/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a library can be preloaded into a command.  The kernel and the dynamic linker
 * silently ignore LD_PRELOAD where it cannot work; this check reports the reason instead.
 */
#ifndef TH_REPORT_RUN_LAUNCH_TARGET_H
#define TH_REPORT_RUN_LAUNCH_TARGET_H

#include <limits.h>
#include <stdbool.h>

#include "report/base/error.h"

/* Library directory of this architecture on Debian. */
#if defined(__x86_64__)
#	define TH_LAUNCH_MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#	define TH_LAUNCH_MULTIARCH "aarch64-linux-gnu"
#endif

/* The dynamic linker that a program names: of glibc, musl, ...  False: none. */
bool th_launch_target_linker(const char *program, char path_ret[PATH_MAX]);

/*
 * Examines the file that execvp() would run for `command`, and the interpreter of a script.
 * NULL if it can be profiled, or is unreadable.  `program_ret` is the ELF file that will run,
 * "" if unknown.
 */
struct th_error *th_launch_target_check(const char *command, char program_ret[PATH_MAX]);

#endif
