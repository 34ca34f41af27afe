/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs for recordings under way: `ctl` asks one for something through its control page,
 * `list` shows those of this user.
 */
#ifndef TH_REPORT_CONTROL_H
#define TH_REPORT_CONTROL_H

#include "report/error.h"

/*
 * The log of a process id or the path of a log itself, to be freed, brought up to date: a running
 * process is asked to write what it otherwise writes now and then.  One that does not answer is
 * no error, its log is as it is. [offline]
 */
struct th_error *th_control_current_log(const char *text, char **path_ret);

/*
 * The same, after the process has counted the buffers that wait for their Cleaner; however long
 * that takes.  TH_ERROR_REFUSED: it has no Java VM that can. [offline]
 */
struct th_error *th_control_count_buffers(const char *text, char **path_ret);

/* argv[0] is the name of the verb.  Returns the exit status. [offline] */
int th_control_main(int argc, char **argv);
int th_list_main(int argc, char **argv);

#endif
