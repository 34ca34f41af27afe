/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl is loaded on demand, so that the tool does not require it.  Numbers of options and
 * results are part of its stable binary interface (<curl/curl.h>).
 */
#include "report/push/http.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"

enum {
	OPTION_NO_SIGNAL = 99,
	OPTION_TIMEOUT_MS = 155,
	OPTION_WRITE_DATA = 10001,
	OPTION_URL = 10002,
	OPTION_ERROR_BUFFER = 10010,
	OPTION_POST_FIELDS = 10015,
	OPTION_USER_AGENT = 10018,
	OPTION_HEADERS = 10023,
	OPTION_CA_FILE = 10065,
	OPTION_WRITE_FUNCTION = 20011,
	OPTION_POST_BYTES = 30120,
};

enum {
	RESULT_RESPONSE_CODE = 0x200002, /* long */
	RESULT_UPLOADED = 0x600007,      /* curl_off_t, bytes */
	RESULT_RETRY_AFTER = 0x600039,   /* curl_off_t, seconds */
};

enum { GLOBAL_ALL = 3 };
/* A longer Retry-After is cut to this, seconds. */
#define WAIT_MAX 3600

struct handle;
struct list;

static struct {
	void *library;
	int (*global_init)(long flags);
	struct handle *(*init)(void);
	int (*set)(struct handle *handle, int option, ...);
	int (*perform)(struct handle *handle);
	int (*get)(struct handle *handle, int result, ...);
	void (*cleanup)(struct handle *handle);
	char *(*escape)(struct handle *handle, const char *text, int length);
	struct list *(*append)(struct list *list, const char *text);
	void (*free_list)(struct list *list);
	void (*free)(void *memory);
	struct handle *handle;
	char error[256]; /* CURL_ERROR_SIZE */
} curl;

static bool
find_functions(void)
{
	const struct {
		const char *name;
		void **function;
	} functions[] = {
		{"curl_global_init", (void **)&curl.global_init},
		{"curl_easy_init", (void **)&curl.init},
		{"curl_easy_setopt", (void **)&curl.set},
		{"curl_easy_perform", (void **)&curl.perform},
		{"curl_easy_getinfo", (void **)&curl.get},
		{"curl_easy_cleanup", (void **)&curl.cleanup},
		{"curl_easy_escape", (void **)&curl.escape},
		{"curl_slist_append", (void **)&curl.append},
		{"curl_slist_free_all", (void **)&curl.free_list},
		{"curl_free", (void **)&curl.free},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(curl.library, functions[i].name);
		if (!*functions[i].function)
			return false;
	}
	return true;
}

/* Keeps the beginning of the answer's body. */
static size_t
keep_body(const char *bytes, size_t size, size_t count, void *data)
{
	struct th_http_answer *answer = data;
	size_t length = size * count;
	size_t room = sizeof(answer->body) - answer->body_length;
	size_t kept = length < room ? length : room;

	memcpy(answer->body + answer->body_length, bytes, kept);
	answer->body_length += kept;
	return length;
}

/* Options that all requests have. */
static void
set_options(uint64_t timeout)
{
	const char *certificates = getenv("OTEL_EXPORTER_OTLP_CERTIFICATE");

	curl.set(curl.handle, OPTION_USER_AGENT, "twinheap/" TH_VERSION);
	curl.set(curl.handle, OPTION_NO_SIGNAL, 1L);
	curl.set(curl.handle, OPTION_TIMEOUT_MS, (long)(timeout / 1000000));
	curl.set(curl.handle, OPTION_WRITE_FUNCTION, keep_body);
	curl.set(curl.handle, OPTION_ERROR_BUFFER, curl.error);
	if (certificates && certificates[0])
		curl.set(curl.handle, OPTION_CA_FILE, certificates);
}

#ifdef TH_STATIC
#	define MISSING "this twinheap is linked statically and cannot load it"
#else
#	define MISSING "which is not installed"
#endif

struct th_error *
th_http_init(uint64_t timeout)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !curl.library; i++)
		curl.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!curl.library)
		return th_error_create(
			TH_ERROR_OUTPUT, "push requires libcurl (libcurl.so.4), " MISSING);
	if (!find_functions() || curl.global_init(GLOBAL_ALL) || !(curl.handle = curl.init()))
		return th_error_create(TH_ERROR_OUTPUT, "push: libcurl cannot be used");
	set_options(timeout);
	return NULL;
}

void
th_http_deinit(void)
{
	if (curl.handle)
		curl.cleanup(curl.handle);
	curl.handle = NULL;
}

/* Requests */

static struct list *
add_header(struct list *list, const char *name, const char *value)
{
	char *line = th_format_new("%s: %s", name, value);

	list = curl.append(list, line);
	free(line);
	return list;
}

static struct list *
make_headers(const struct th_http_request *request, const struct th_labels *further)
{
	/* No "Expect: 100-continue": a receiver that ignores it would cost a second. */
	struct list *list = curl.append(NULL, "Expect:");

	list = add_header(list, "Content-Type", request->content_type);
	if (request->is_gzipped)
		list = add_header(list, "Content-Encoding", "gzip");
	for (size_t i = 0; i < further->items_count; i++)
		list = add_header(list, further->items[i].key, further->items[i].value);
	return list;
}

/*
 * RFC 9110: 429 and 503 were not processed. A gateway's error, or a server's own, says nothing of
 * what was processed before.
 */
static enum th_http_outcome
outcome_of_status(long status)
{
	if (status >= 200 && status < 300)
		return TH_HTTP_ACCEPTED;
	switch (status) {
	case 400:
	case 413:
	case 415:
	case 422:
		return TH_HTTP_REJECTED;
	case 408:
	case 500:
	case 502:
	case 504:
		return TH_HTTP_UNKNOWN;
	default:
		return TH_HTTP_REFUSED;
	}
}

void
th_http_post(const struct th_http_request *request, const struct th_labels *headers,
	struct th_http_answer *answer_ret)
{
	struct list *list = make_headers(request, headers);
	int64_t uploaded = 0, wait = 0;
	long status = 0;

	*answer_ret = (struct th_http_answer){0};
	curl.error[0] = '\0';
	curl.set(curl.handle, OPTION_URL, request->url);
	curl.set(curl.handle, OPTION_POST_FIELDS, request->body);
	curl.set(curl.handle, OPTION_POST_BYTES, (int64_t)request->length);
	curl.set(curl.handle, OPTION_HEADERS, list);
	curl.set(curl.handle, OPTION_WRITE_DATA, answer_ret);
	int code = curl.perform(curl.handle);
	curl.get(curl.handle, RESULT_RESPONSE_CODE, &status);
	curl.get(curl.handle, RESULT_UPLOADED, &uploaded);
	curl.get(curl.handle, RESULT_RETRY_AFTER, &wait);
	curl.free_list(list);
	if (wait > 0)
		answer_ret->wait = (uint64_t)(wait < WAIT_MAX ? wait : WAIT_MAX) * 1000000000;
	if (!code) {
		answer_ret->outcome = outcome_of_status(status);
		snprintf(answer_ret->reason, sizeof(answer_ret->reason), "HTTP status %ld",
			status);
		return;
	}
	/* A request that was not sent whole cannot have been processed. */
	answer_ret->outcome = uploaded < (int64_t)request->length ? TH_HTTP_REFUSED
								  : TH_HTTP_UNKNOWN;
	snprintf(answer_ret->reason, sizeof(answer_ret->reason), "%.200s", curl.error);
}

char *
th_http_escape(const char *text)
{
	char *escaped = curl.escape(curl.handle, text, 0);

	if (!escaped)
		th_out_of_memory();
	char *copy = th_format_new("%s", escaped);
	curl.free(escaped);
	return copy;
}

void
th_http_request_deinit(struct th_http_request *request)
{
	free(request->url);
	free(request->body);
	*request = (struct th_http_request){0};
}
