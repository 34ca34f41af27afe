/* SPDX-License-Identifier: Apache-2.0 */
/* Logs that commands read, and files that they write. */
#ifndef TH_REPORT_COMMANDS_FILES_H
#define TH_REPORT_COMMANDS_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "report/base/error.h"
#include "report/log/recording.h"
#include "report/profile/options.h"
#include "report/profile/profile.h"

/* Standard output; lines of text are wrapped at the width of a terminal. */
FILE *th_output_fit(const struct th_options *options);

/*
 * Opens the file of --output, or standard output as th_output_fit(); refuses the log itself. A new
 * file is readable by its owner only, like a log: a report shows as much of a process as its log.
 */
struct th_error *th_output_open(const struct th_options *options, FILE **file_ret);

/* Creates or opens such a file, with further flags of open(2); NULL and errno if it cannot. */
FILE *th_output_open_private(const char *path, int flags);

/*
 * Writes what is pending, and closes the file if it is not standard output. `path` (NULL = standard
 * output) is for the message. EPIPE is not an error: the reader, such as `head`, has closed the pipe.
 */
struct th_error *th_output_close(FILE *file, const char *path);

/*
 * The path of the log given as LOG, as the id of a process, which is asked to write its pending
 * data, or as "-"; to be freed.
 */
struct th_error *th_input_find(const char *operand, char **path_ret);

/* The same for `rss`, which has a running process take a breakdown in any case. */
struct th_error *th_input_find_current(const struct th_options *options, char **path_ret);

/* Reads the log of the options, without its command line if they say so. */
struct th_error *
th_input_read(const struct th_options *options, struct th_recording **recording_ret);

/* The same, with lines on stderr if the log is damaged, or was not closed and its process is gone. */
struct th_error *
th_input_load(const struct th_options *options, struct th_recording **recording_ret);

/* Reads the log for `use`; the lines come after it, and not beside an error of it. */
typedef struct th_error *
th_input_user(const struct th_options *options, struct th_recording *recording, void *data);
struct th_error *th_input_use(const struct th_options *options, th_input_user *use, void *data);

/* An error if filters select no sample; NULL: they do, or there are none. */
struct th_error *th_input_check_selection(const struct th_profile *profile);

/* A th_warn that prints the text on stderr. */
void th_input_warn(void *data, const char *text);

#endif
