/* SPDX-License-Identifier: Apache-2.0 */
/* The command `list`: the processes that are recorded, and those that `attach` could record. */
#ifndef TH_REPORT_CONTROL_LIST_H
#define TH_REPORT_CONTROL_LIST_H

/* argv[0] is the name of the command.  Returns the exit status. */
int th_list_main(int argc, char **argv);

#endif
