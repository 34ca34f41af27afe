/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings under way: the log of a process, found among the files that it has mapped, and its
 * header as the process keeps it.  The file is read and written by system calls, not mapped, so
 * that one that is cut off meanwhile does no harm.
 */
#ifndef TH_REPORT_CONTROL_RUNNING_H
#define TH_REPORT_CONTROL_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/base/error.h"
#include "unify/shared/log_format.h"

/*
 * The log that process `pid` writes, by a path that leads to it from here, to be freed; NULL when
 * there is none or it is not ours.
 */
char *th_running_log(pid_t pid);

/* The log that "PID" or "LOG" on a command line means, to be freed. */
struct th_error *th_running_find(const char *text, char **path_ret);

/* Processes, by number. */
struct th_running_pids {
	pid_t *pids;
	size_t pids_count;
	size_t pids_capacity;
};

/* All that /proc shows; `pids` is to be freed. */
void th_running_find_pids(struct th_running_pids *ret);

/*
 * Opens a log and reads its header; `may_write` opens it for requests too.  The descriptor is the
 * caller's.
 */
struct th_error *th_running_open(const char *path, bool may_write, int *descriptor_ret,
	struct th_log_header *header_ret);

/* Reads the header again; false: it is not there any more. */
bool th_running_read(int descriptor, struct th_log_header *header_ret);

/*
 * The process that the log is of, by its number here, which in another pid namespace is not that of
 * the header; 0 if it is not there or not known.
 */
pid_t th_running_writer(const struct th_log_header *header);

/* Whether process `pid`, by its number here, is the one that the log is of. */
bool th_running_is_writer(const struct th_log_header *header, pid_t pid);

/* Whether it is recorded and that process is still there. */
bool th_running_is_alive(const struct th_log_header *header);

/* Its command line, blanks between the words, to be freed; "" if it cannot be read. */
char *th_running_command(pid_t pid);

#endif
