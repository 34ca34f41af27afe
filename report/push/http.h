/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP and TLS for `push`, by libcurl, which is loaded on first use. */
#ifndef TH_REPORT_PUSH_HTTP_H
#define TH_REPORT_PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/error.h"
#include "report/base/labels.h"

/* What became of a request. */
enum th_http_outcome {
	TH_HTTP_ACCEPTED, /* 2xx */
	TH_HTTP_REFUSED,  /* not taken, now */
	TH_HTTP_UNKNOWN,  /* it may have been taken */
	TH_HTTP_REJECTED, /* these bytes will never be taken */
};

struct th_http_request {
	char *url; /* http:// or https:// */
	const char *content_type;
	bool is_gzipped; /* Content-Encoding */
	char *body;
	size_t length;
};

#define TH_HTTP_BODY_MAX 4096

struct th_http_answer {
	enum th_http_outcome outcome;
	uint64_t wait;               /* Retry-After, ns; 0 = none */
	char reason[256];            /* "HTTP status 503", or the error of libcurl */
	char body[TH_HTTP_BODY_MAX]; /* its beginning */
	size_t body_length;
};

/* Loads the library; an error if there is none. `timeout` of each request, ns. */
struct th_error *th_http_init(uint64_t timeout);
void th_http_deinit(void);

/* Sends a POST request with further headers. Connections are kept and reused. */
void th_http_post(const struct th_http_request *request, const struct th_labels *headers,
	struct th_http_answer *answer_ret);

/* The text as a part of a URL, to be freed; after th_http_init(). */
char *th_http_escape(const char *text);

void th_http_request_deinit(struct th_http_request *request);

#endif
