/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twinheap push: sends recordings to a receiver of profiles, once or while they grow. From the bottom
 * up: requests and their delivery, what each window adds to the values of a recording, leaks as log
 * records, a recording and its windows, and the command.
 */
#ifndef TH_REPORT_PUSH_PUSH_H
#define TH_REPORT_PUSH_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/base/error.h"
#include "report/base/labels.h"
#include "report/profile/profile.h"
#include "report/views/export_part.h"

/* receiver.c: the requests that a receiver takes. */

enum th_receiver_kind {
	TH_TO_OTLP,      /* POST URL/v1development/profiles, gzipped protobuf */
	TH_TO_PYROSCOPE, /* POST URL/ingest?name=...&format=pprof */
	TH_TO_PPROF,     /* POST URL/v1/pprof of the collector's receiver */
};

struct th_receiver {
	enum th_receiver_kind kind;
	char *text; /* as given */
	char *url;  /* http:// or https://, without a "/" at its end */
	struct th_labels headers;
	uint64_t blocked;   /* no request before this time, CLOCK_MONOTONIC ns */
	uint64_t delay;     /* of the last failure, ns; 0 = it accepts */
	uint64_t failing;   /* time of the first failure of this outage */
	char reason[256];   /* of the last answer: "HTTP status 503", or the error of libcurl */
	bool takes_no_logs; /* it refused log records */
};

struct th_push_request {
	char *url; /* http:// or https:// */
	const char *content_type;
	bool is_gzipped; /* Content-Encoding */
	char *body;
	size_t length;
};

/*
 * Reads "otlp+http://host:4318", with +https, or pyroscope, pprof instead of otlp. `text` may be
 * NULL: then $OTEL_EXPORTER_OTLP_ENDPOINT, which is OTLP without the prefix. Headers are those of
 * $OTEL_EXPORTER_OTLP_HEADERS.
 */
struct th_error *th_receiver_init(struct th_receiver *receiver, const char *text);
void th_receiver_deinit(struct th_receiver *receiver);

#define TH_REQUESTS_MAX 2

/*
 * Makes the requests for the parts of a profile, at most TH_REQUESTS_MAX, in their order; returns
 * their number.
 */
size_t
th_receiver_requests(const struct th_receiver *receiver, const struct th_export_part *parts,
	size_t parts_count, struct th_push_request requests_ret[TH_REQUESTS_MAX]);
void th_push_request_deinit(struct th_push_request *request);

/* delivery.c: HTTP and TLS by libcurl, which is loaded on first use, while a receiver may be down. */

enum th_delivery {
	TH_DELIVERY_ACCEPTED, /* 2xx */
	TH_DELIVERY_REFUSED,  /* not taken, now */
	TH_DELIVERY_UNKNOWN,  /* it may have been taken */
	TH_DELIVERY_REJECTED, /* these bytes will never be taken */
};

/* Loads the library; an error if there is none. `timeout` of each request, ns. */
struct th_error *th_delivery_init(uint64_t timeout);
void th_delivery_deinit(void);

/* Sends a request. Unless it is accepted or rejected, `blocked` is set. */
enum th_delivery
th_delivery_send(struct th_receiver *receiver, const struct th_push_request *request);

/* Sends log records, once, if the receiver takes any; whether it has accepted them. */
bool th_delivery_send_logs(struct th_receiver *receiver, const struct th_push_request *request);

/*
 * deltas.c: what a window adds to the allocated values of a recording. A sample is sent once, in the
 * first window that is made after it was written. The samples of a window are scaled so that each
 * heap's sums of all windows are the totals known by then, although estimates change: so a window that
 * was not accepted is part of the next one, and nothing is taken back. Where a total is less than
 * what was sent, nothing is sent until it exceeds it.
 */

/* Allocated values of a heap: objects, bytes. */
#define TH_DELTA_VALUES 2

/* What a receiver has accepted of a recording. Zeroed: nothing. */
struct th_sent {
	uint64_t time;   /* end of the last window, ns since 1970 */
	uint64_t offset; /* in the log: samples before it were sent */
	int64_t sums[TH_HEAPS][TH_DELTA_VALUES];
};

/*
 * Replaces the allocated values in `rows`, which th_export_rows() made, by those of the window
 * that follows `sent`; sets offset and sums of *next_ret, as they are once it is accepted. False:
 * it adds nothing.
 */
bool th_deltas_take(const struct th_sent *sent, const struct th_profile *profile,
	th_export_row *rows, struct th_sent *next_ret);

/* findings.c: leaks of a recording as log records of OpenTelemetry, each once. */

/* Zeroed: nothing was sent. `hashes` is to be freed. */
struct th_findings {
	TH_ARRAY(uint64_t,
		hashes); /* of findings that were accepted, then of those in the request */
	size_t accepted;
};

/*
 * Makes the request, `POST URL/v1/logs` in JSON, with the leaks that were not accepted; false:
 * there are none. `now` in ns since 1970.
 */
bool th_findings_request(struct th_findings *findings, const struct th_profile *profile,
	const char *url, const struct th_labels *labels, uint64_t now,
	struct th_push_request *request_ret);

/*
 * source.c: a recording that is pushed: its log, which is read anew for each window, the labels of
 * its process, and what the receiver has accepted of it, kept in a file for a restart.
 */

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
	struct th_push_request requests[TH_REQUESTS_MAX];
	size_t requests_count;
	size_t requests_sent;
	bool is_last;                 /* the process had ended when it was made */
	bool has_alloc;               /* the first request has allocated values */
	unsigned repeats;             /* of a request whose fate is unknown */
	struct th_push_request leaks; /* log records, sent after it; body NULL: none */
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

/* push.c: the command, and the text of its help between its summary and the options. */
struct th_error *th_push(const struct th_options *options);
extern const char th_push_details[];

#endif
