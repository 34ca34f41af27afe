/* SPDX-License-Identifier: Apache-2.0 */
/* The command `ctl`: submits a request to a running recording through its control page. */
#ifndef TH_REPORT_CONTROL_CTL_H
#define TH_REPORT_CONTROL_CTL_H

/* argv[0] is the name of the command.  Returns the exit status. */
int th_control_main(int argc, char **argv);

#endif
