/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver of `push`, and the requests that it takes. */
#ifndef TH_REPORT_PUSH_DESTINATION_H
#define TH_REPORT_PUSH_DESTINATION_H

#include <stdbool.h>
#include <stddef.h>

#include "report/base/error.h"
#include "report/base/labels.h"
#include "report/views/export_part.h"

enum th_destination_kind {
	TH_TO_OTLP,      /* POST URL/v1development/profiles, gzipped protobuf */
	TH_TO_PYROSCOPE, /* POST URL/ingest?name=...&format=pprof */
	TH_TO_PARCA,     /* POST URL/api/profiles/writeraw, JSON */
	TH_TO_PPROF,     /* POST URL/v1/pprof of the collector's receiver */
};

struct th_destination {
	enum th_destination_kind kind;
	char *text; /* as given */
	char *url;  /* http:// or https://, without a "/" at its end */
	struct th_labels headers;
};

/*
 * Reads "otlp+http://host:4318", with +https, or pyroscope, parca, pprof instead of otlp. `text`
 * may be NULL: then $OTEL_EXPORTER_OTLP_ENDPOINT, which is OTLP without the prefix. Headers are
 * those of $OTEL_EXPORTER_OTLP_HEADERS.
 */
struct th_error *th_destination_init(struct th_destination *destination, const char *text);
void th_destination_deinit(struct th_destination *destination);

/* Headers that do not change are in the destination. */
struct th_request_body {
	char *url;
	const char *content_type;
	bool is_gzipped; /* Content-Encoding */
	bool has_alloc;  /* it carries allocated values, which may be counted only once */
	char *bytes;
	size_t length;
};

#define TH_REQUESTS_MAX 2

/*
 * The requests for the parts of one process, at most TH_REQUESTS_MAX; each is to be freed by
 * th_request_body_deinit(). All parts are of one profile.
 */
size_t th_destination_requests(const struct th_destination *destination,
	const struct th_export_part *parts, size_t parts_count,
	struct th_request_body requests_ret[TH_REQUESTS_MAX]);
void th_request_body_deinit(struct th_request_body *request);

#endif
