/* SPDX-License-Identifier: Apache-2.0 */
/* twinheap push: sends recordings to a receiver of profiles, once or while they grow. */
#ifndef TH_REPORT_PUSH_PUSH_H
#define TH_REPORT_PUSH_PUSH_H

/* Runs the command with its arguments, argv[0] being its name; returns the exit status. */
int th_push_main(int argc, char **argv);

#endif
