/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver of `push`: the requests that it takes, and their delivery while it may be down. */
#ifndef TH_REPORT_PUSH_RECEIVER_H
#define TH_REPORT_PUSH_RECEIVER_H

#include "report/push/http.h"
#include "report/views/export_part.h"

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
	char reason[256];   /* of the last failure */
	bool takes_no_logs; /* it refused log records */
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
	size_t parts_count, struct th_http_request requests_ret[TH_REQUESTS_MAX]);

/* Sends a request. Unless it is accepted or rejected, `blocked` is set. */
enum th_http_outcome
th_receiver_send(struct th_receiver *receiver, const struct th_http_request *request);

/* Sends log records, once, if the receiver takes any; whether it has accepted them. */
bool th_receiver_send_logs(struct th_receiver *receiver, const struct th_http_request *request);

#endif
