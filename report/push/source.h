/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is pushed: its log, which is read as it grows, the labels of its process, and
 * what the receiver has accepted of it, kept in a file for a restart.
 */
#ifndef TH_REPORT_PUSH_SOURCE_H
#define TH_REPORT_PUSH_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/push/destination.h"
#include "report/push/findings.h"
#include "report/push/increments.h"

struct th_source {
	pid_t pid; /* here; 0: a log whose process is not looked for */
	struct th_recording *recording;
	char *log; /* its path */
	struct th_options options;
	struct th_profile *profile; /* NULL until the first window */
	bool is_resting;            /* see th_source_rest() */
	struct th_labels labels;
	struct th_increments increments;
	struct th_findings findings;
	unsigned windows;   /* accepted */
	bool is_ended;      /* the process ended: its last window is due */
	bool is_done;       /* the last window was sent or given up */
	bool is_lost;       /* a window was dropped */
	uint64_t due;       /* time of the next window, CLOCK_MONOTONIC ns */
	uint64_t sent_to;   /* end of the last window that was accepted, ns since 1970 */
	uint64_t window_to; /* end of the window in `requests` */
	/* The window that is being sent: repeated as it is while its fate is unknown. */
	struct th_request_body requests[TH_REQUESTS_MAX];
	size_t requests_count;
	size_t requests_sent;
	unsigned repeats;
};

/*
 * Opens a log; `extra` labels win over all others. `state` is the directory of the files of state,
 * NULL for none.
 */
struct th_error *th_source_open(const char *log, pid_t pid, const struct th_labels *extra,
	const char *state, struct th_source **source_ret);
void th_source_close(struct th_source *source);

/*
 * Reads the log on and makes the requests of the next window; with `is_whole` of all that the log
 * contains, as one window. None if one is being sent.
 */
void th_source_prepare(
	struct th_source *source, const struct th_destination *destination, bool is_whole);

/*
 * Between windows: frees what the next one reads again from the log, so that memory is that of
 * the names, stacks and sent sums of all recordings, and of the samples of one.
 */
void th_source_rest(struct th_source *source);

/* The current request was accepted; it carried the increments if has_alloc is set. */
void th_source_accepted(struct th_source *source, const char *state);

/* Gives up the window that is being sent; the next one contains its values. */
void th_source_merge(struct th_source *source);

/* The receiver rejects the window's bytes: its values are counted as accepted. */
void th_source_drop(struct th_source *source, const char *state);

/*
 * The request with leaks that the receiver was not told yet, after an accepted window; false: there
 * are none, or it is not time to look for them.
 */
bool th_source_findings(struct th_source *source, const struct th_destination *destination,
	struct th_request_body *request_ret);

/*
 * The log of which a file of state is, to be freed; empty if it does not say so, NULL if the file is
 * none.
 */
char *th_source_log_of(const char *path);

/* Whether the file of state at `path` is that of this process, in the directory `state`. */
bool th_source_has_state(const struct th_source *source, const char *state, const char *path);

/* Removes the file of state of a process that ended. */
void th_source_forget(const struct th_source *source, const char *state);

#endif
