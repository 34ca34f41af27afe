/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP and TLS for `push`, by libcurl, which is loaded on first use. */
#ifndef TH_REPORT_PUSH_HTTP_H
#define TH_REPORT_PUSH_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/base/labels.h"

/* What became of a request. */
enum th_http_outcome {
	TH_HTTP_ACCEPTED, /* 2xx */
	TH_HTTP_REFUSED,  /* not taken, now: its data may be sent in another request */
	TH_HTTP_UNKNOWN,  /* it may have been taken: only the same request may be repeated */
	TH_HTTP_REJECTED, /* these bytes will never be taken */
};

#define TH_HTTP_BODY_MAX 4096

struct th_http_request {
	const char *url; /* http:// or https:// */
	const struct th_labels *headers;
	const void *body;
	size_t length;
	uint64_t timeout; /* of the whole request, ns */
};

struct th_http_answer {
	enum th_http_outcome outcome;
	uint64_t wait;    /* Retry-After, ns; 0 = none */
	char reason[256]; /* "503", "connection refused", ...; printable only after cleaning */
	char body[TH_HTTP_BODY_MAX]; /* its beginning */
	size_t body_length;
};

/* Loads the library; an error if there is none. */
struct th_error *th_http_init(void);
void th_http_deinit(void);

/* Sends a POST request. Connections are kept and reused. */
void th_http_post(const struct th_http_request *request, struct th_http_answer *answer_ret);

#endif
