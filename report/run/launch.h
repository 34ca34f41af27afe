/* SPDX-License-Identifier: Apache-2.0 */
/* The command `run`: starts a command with the library preloaded.  Part of the tool. */
#ifndef TH_REPORT_RUN_LAUNCH_H
#define TH_REPORT_RUN_LAUNCH_H

#include <limits.h>

#include "report/base/error.h"

/*
 * `twinheap run [options] [--] COMMAND...`; argv[0] is "run".  Runs the command and returns its
 * exit status: 128 + N if signal N killed it, 127 if it was not found, 126 if it cannot be
 * executed; 2 if it was not started because it cannot be profiled.  All output goes to stderr,
 * except for --help.
 */
int th_launch_main(int argc, char **argv);

/* Finds the library: TWINHEAP_LIBRARY, or beside the tool. */
struct th_error *th_launch_library(char path_ret[PATH_MAX]);

/* Runs the tool again to print a short summary of the log on stderr. */
void th_launch_summary(char *path);

#endif
