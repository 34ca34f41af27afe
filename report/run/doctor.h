/* SPDX-License-Identifier: Apache-2.0 */
/* The command `doctor`: what works on this machine and what does not, and why. */
#ifndef TH_REPORT_RUN_DOCTOR_H
#define TH_REPORT_RUN_DOCTOR_H

/* argv[0] is the name of the command.  Returns the exit status: 1 if nothing can be recorded. */
int th_doctor_main(int argc, char **argv);

#endif
