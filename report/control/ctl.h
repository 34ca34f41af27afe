/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands for running recordings: `ctl` submits a request to one through its control page,
 * `list` shows those of this user.
 */
#ifndef TH_REPORT_CONTROL_CTL_H
#define TH_REPORT_CONTROL_CTL_H

/* argv[0] is the name of the command.  Returns the exit status. */
int th_control_main(int argc, char **argv);
int th_list_main(int argc, char **argv);

#endif
