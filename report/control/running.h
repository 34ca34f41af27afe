/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running recordings: the log of a process, found among the files it has mapped, and its
 * header.  The file is accessed by system calls, not mapped, so that a concurrent truncation
 * does no harm.
 */
#ifndef TH_REPORT_CONTROL_RUNNING_H
#define TH_REPORT_CONTROL_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/base/allocate.h"
#include "report/base/error.h"
#include "unify/shared/log_format.h"

/*
 * The log that process `pid` writes, as a path valid for the tool, to be freed; NULL if there
 * is none or it is not accessible.
 */
char *th_running_log(pid_t pid);

/* The log given as "PID" or "LOG" on a command line, to be freed. */
struct th_error *th_running_find(const char *text, char **path_ret);

/* Whether two paths name the same file. */
bool th_running_is_same_file(const char *a, const char *b);

/* Processes, by id, as /proc lists them. */
struct th_running_pids {
	TH_ARRAY(pid_t, pids);
};

/* All processes in /proc; `pids` is to be freed. */
void th_running_find_pids(struct th_running_pids *ret);

/*
 * Opens a log and reads its header; `may_write` opens it for requests too.  The descriptor
 * belongs to the caller.
 */
struct th_error *th_running_open(const char *path, bool may_write, int *descriptor_ret,
	struct th_log_header *header_ret);

/* Reads only the header; false: it is no log that this version can read. */
bool th_running_header(const char *path, struct th_log_header *ret);

/* Samples of all heaps so far. */
uint64_t th_running_samples(const struct th_log_header *header);

/* Reads the header again; false: it is no longer readable. */
bool th_running_read(int descriptor, struct th_log_header *header_ret);

/*
 * The process that writes the log, by its id in the tool's pid namespace, which may differ from
 * the header's; 0 if it has ended or is unknown.
 */
pid_t th_running_writer(const struct th_log_header *header);

/* Whether process `pid`, in the tool's pid namespace, writes the log. */
bool th_running_is_writer(const struct th_log_header *header, pid_t pid);

/* Whether the log is being recorded and its process still exists. */
bool th_running_is_alive(const struct th_log_header *header);

/*
 * The file NAME below /proc/PID, at most its first MiB, with a NUL behind it, to be freed; "" if it is
 * not readable.  `bytes_ret` may be NULL.
 */
char *th_running_proc(pid_t pid, const char *name, size_t *bytes_ret);

/* The id of a process in its own pid namespace: the last entry of NSpid, if the kernel has it. */
uint32_t th_running_pid_inside(pid_t pid);

/* The value of a variable in the environment of a process, a text of the output; NULL: it is not set. */
const char *th_running_variable(pid_t pid, const char *name);

/* Its command line, words separated by spaces; "" if unreadable. */
const char *th_running_command(pid_t pid);

#endif
