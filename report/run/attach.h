/* SPDX-License-Identifier: Apache-2.0 */
/* The commands `attach` and `detach`: recording of a Java VM that runs already. */
#ifndef TH_REPORT_RUN_ATTACH_H
#define TH_REPORT_RUN_ATTACH_H

/* argv[0] is the name of the command.  Both return the exit status. */
int th_attach_main(int argc, char **argv);
int th_detach_main(int argc, char **argv);

#endif
