/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to recordings under way, through the control page of their logs.
 */
#ifndef TH_REPORT_CONTROL_REQUEST_H
#define TH_REPORT_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/base/error.h"
#include "unify/shared/log_format.h"

struct th_request {
	enum th_control_verb verb;
	uint64_t value;
	const char *name;
};

/* The recording that a command is about. */
struct th_target {
	char *path;
	int descriptor;
	struct th_log_header header;
	pid_t pid;       /* of the process, as it is seen from here */
	bool is_patient; /* a process that stands still is waited for */
};

/*
 * Opens the recording that "PID" or "LOG" on a command line means; `may_write` to ask it for
 * something, which one that has ended refuses.  To be closed, even after an error.
 */
struct th_error *th_target_open(const char *text, bool may_write, struct th_target *ret);
void th_target_close(struct th_target *target);

/*
 * Asks, waits for the answer and says on stdout what is still to come of it.  TH_ERROR_REFUSED: the
 * process cannot do it.
 */
struct th_error *th_request_ask(struct th_target *target, const struct th_request *request);

/*
 * The log of a process id or the path of a log itself, to be freed, brought up to date: a running
 * process is asked to write what it otherwise writes now and then.  One that does not answer is
 * no error, its log is as it is.
 */
struct th_error *th_request_current_log(const char *text, char **path_ret);

/*
 * The same, after the process has counted the buffers that wait for their Cleaner; however long
 * that takes.  TH_ERROR_REFUSED: it has no Java VM that can.
 */
struct th_error *th_request_count_buffers(const char *text, char **path_ret);

#endif
