/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `run`: starts a command with the library preloaded.  Part of the tool. */
#ifndef TH_REPORT_RUN_LAUNCH_H
#define TH_REPORT_RUN_LAUNCH_H

/*
 * `twinheap run [options] [--] COMMAND...`; argv[0] is "run".  Runs the command to its end and
 * returns its exit status: 128 + N when signal N killed it, 127 when it was not found, 126 when
 * it cannot be executed; 2 when it was not started because profiling it cannot work.  Everything
 * it says goes to stderr, but for --help.
 */
int th_launch_main(int argc, char **argv);

#endif
