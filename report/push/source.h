/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is pushed: its log, which is read anew for each window, the labels of its
 * process, and what the receiver has accepted of it, kept in a file for a restart.
 */
#ifndef TH_REPORT_PUSH_SOURCE_H
#define TH_REPORT_PUSH_SOURCE_H

#include <sys/types.h>

#include "report/push/deltas.h"
#include "report/push/findings.h"
#include "report/push/receiver.h"

struct th_source {
	pid_t pid;      /* here; 0: a log whose process is not looked for */
	int descriptor; /* of the log, which may be deleted, or out of reach without its process */
	char *log;      /* its path */
	char *state;    /* path of the file of state; NULL: none */
	struct th_recording *recording; /* NULL between windows */
	struct th_labels labels;
	struct th_sent sent;
	struct th_sent next; /* `sent` once the window is accepted */
	struct th_findings findings;
	unsigned windows; /* accepted */
	bool is_ended;    /* the process ended: its last window is due */
	bool is_done;     /* the last window was sent or given up */
	bool is_lost;     /* a window was rejected */
	uint64_t due;     /* time of the next window, CLOCK_MONOTONIC ns */
	/* The window that is being sent: repeated as it is until it is accepted. */
	struct th_http_request requests[TH_REQUESTS_MAX];
	size_t requests_count;
	size_t requests_sent;
	bool is_last;                 /* the process had ended when it was made */
	bool has_alloc;               /* the first request has allocated values */
	unsigned repeats;             /* of a request whose fate is unknown */
	struct th_http_request leaks; /* log records, sent after it; body NULL: none */
};

/*
 * Opens a log; `extra` labels win over all others. `state` is the directory of the files of state,
 * NULL for none.
 */
struct th_error *th_source_open(const char *log, pid_t pid, const struct th_labels *extra,
	const char *state, struct th_source **source_ret);
void th_source_close(struct th_source *source);

/* Frees the recording, which the next window reads again. */
void th_source_rest(struct th_source *source);

/* Whether the process still runs and records. */
bool th_source_is_alive(const struct th_source *source);

/*
 * Sends a window of all that the log contains and the receiver has not, or again the one that was
 * not accepted; false: it was not, and the receiver is blocked. A window that is rejected for good
 * is lost, which is printed. `symbols` are those of all recordings, or NULL.
 */
bool th_source_send(
	struct th_source *source, struct th_receiver *receiver, struct th_symbols *symbols);

/* Reads a file of state; false: it is none. The path of the log is to be freed. */
bool th_source_read_state(const char *path, struct th_sent *sent_ret, char **log_ret);

#endif
