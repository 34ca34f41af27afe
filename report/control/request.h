/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to running recordings, through the control page of their logs. */
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

/* The recording that a command refers to. */
struct th_target {
	char *path;
	int descriptor;
	struct th_log_header header;
	pid_t pid;     /* of the process, in the tool's pid namespace */
	bool is_quiet; /* no wait while the process is stopped, nothing about what is pending */
};

/*
 * Opens the recording given as "PID" or "LOG" on a command line.  `may_write`: for submitting a
 * request; fails if the recording has ended.  To be closed, even after an error.
 */
struct th_error *th_target_open(const char *text, bool may_write, struct th_target *ret);
void th_target_close(struct th_target *target);

/*
 * Submits a request, waits for the answer, and prints on stderr what is still pending.
 * TH_ERROR_REFUSED: the process cannot do it.
 */
struct th_error *th_request_ask(struct th_target *target, const struct th_request *request);

/*
 * Submits a request without a value to the recording of a log.  A flush brings the log up to date: of a
 * process that has ended or does not answer, the log is used as it is; this is not an error.
 * TH_CONTROL_BUFFERS waits without limit.
 */
struct th_error *th_request_of_log(const char *path, enum th_control_verb verb);

#endif
