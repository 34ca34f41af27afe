/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl is loaded on demand, so that the tool does not require it.  Numbers of options and
 * results are part of its stable binary interface (<curl/curl.h>).
 */
#include "report/push/push.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/line.h"
#include "unify/shared/clock.h"

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
/* Longest body of an answer that is understood, bytes. */
#define BODY_MAX 4096

#define FIRST_DELAY (TH_NS_PER_S)
#define LAST_DELAY (300 * TH_NS_PER_S)

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
	struct list *(*append)(struct list *list, const char *text);
	void (*free_list)(struct list *list);
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
		{"curl_slist_append", (void **)&curl.append},
		{"curl_slist_free_all", (void **)&curl.free_list},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(curl.library, functions[i].name);
		if (!*functions[i].function)
			return false;
	}
	return true;
}

/* The beginning of an answer's body. */
struct answer {
	char body[BODY_MAX];
	size_t length;
};

static size_t
keep_body(const char *bytes, size_t size, size_t count, void *data)
{
	struct answer *answer = data;
	size_t length = size * count;
	size_t room = sizeof(answer->body) - answer->length;
	size_t kept = length < room ? length : room;

	memcpy(answer->body + answer->length, bytes, kept);
	answer->length += kept;
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
th_delivery_init(uint64_t timeout)
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
th_delivery_deinit(void)
{
	if (curl.handle)
		curl.cleanup(curl.handle);
	curl.handle = NULL;
}

/* Requests */

static struct list *
add_header(struct list *list, const char *name, const char *value)
{
	return curl.append(list, th_text_format("%s: %s", name, value));
}

static struct list *
make_headers(const struct th_push_request *request, const struct th_labels *further)
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
static enum th_delivery
outcome_of(long status)
{
	if (status >= 200 && status < 300)
		return TH_DELIVERY_ACCEPTED;
	switch (status) {
	case 400:
	case 413:
	case 415:
	case 422:
		return TH_DELIVERY_REJECTED;
	case 408:
	case 500:
	case 502:
	case 504:
		return TH_DELIVERY_UNKNOWN;
	default:
		return TH_DELIVERY_REFUSED;
	}
}

/* Outages */

/* A fifth more or less, so that the processes of a fleet do not return at the same time. */
static uint64_t
spread(uint64_t delay)
{
	return delay - delay / 5 + (uint64_t)random() % (delay / 5 * 2);
}

/* Retry-After in seconds; libcurl may give a time in the past. */
static void
fail(struct th_receiver *receiver, int64_t retry_after)
{
	uint64_t now = th_clock_now();
	uint64_t least = retry_after < 0 ? 0 : (uint64_t)retry_after;

	if (!receiver->delay) {
		receiver->failing = now;
		th_notice("push: %s: %s; trying again, windows are merged meanwhile",
			receiver->text, receiver->reason);
	}
	receiver->delay = receiver->delay ? receiver->delay * 2 : FIRST_DELAY;
	if (receiver->delay > LAST_DELAY)
		receiver->delay = LAST_DELAY;
	uint64_t wait = spread(receiver->delay);
	least = (least < WAIT_MAX ? least : WAIT_MAX) * TH_NS_PER_S;
	receiver->blocked = now + (least > wait ? least : wait);
}

static void
recover(struct th_receiver *receiver)
{
	if (receiver->delay)
		th_notice("push: %s: accepts again, after %s", receiver->text,
			th_format_seconds(
				(double)(th_clock_now() - receiver->failing) / TH_NS_PER_S)
				.text);
	receiver->delay = 0;
}

/* Answers */

/* Fields of OTLP's answers: field number << 3 | how the field is encoded. */
enum {
	PARTIAL_SUCCESS = 1 << 3 | 2, /* a message with the following two */
	REJECTED_ITEMS = 1 << 3,
	ERROR_MESSAGE = 2 << 3 | 2,
};
enum { ENCODING_NUMBER = 0, ENCODING_BYTES = 2, ENCODINGS = 7 };

static bool
read_varint(const char **at, const char *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		const uint8_t byte = (uint8_t)(*at)[0];

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		*at += 1;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/*
 * OTLP: whether the answer to an accepted request says that items were rejected; then sets the
 * reason. The keys of the message in the answer differ from that of the answer.
 */
static bool
is_partial(struct th_receiver *receiver, const struct answer *answer)
{
	const char *at = answer->body;
	const char *end = at + answer->length;
	const char *message = "";
	uint64_t key, value, length = 0, rejected = 0;

	if (receiver->kind != TH_TO_OTLP || answer->length == sizeof(answer->body))
		return false;
	while (read_varint(&at, end, &key) && read_varint(&at, end, &value)) {
		if (key == REJECTED_ITEMS)
			rejected = value;
		if ((key & ENCODINGS) == ENCODING_NUMBER)
			continue;
		if ((key & ENCODINGS) != ENCODING_BYTES || value > (uint64_t)(end - at))
			break;
		if (key == PARTIAL_SUCCESS)
			continue;
		if (key == ERROR_MESSAGE) {
			message = at;
			length = value;
		}
		at += value;
	}
	if (rejected)
		snprintf(receiver->reason, sizeof(receiver->reason), "%.*s",
			(int)(length < 200 ? length : 200), message);
	return rejected;
}

/* Sets the reason of the receiver, and Retry-After in seconds; 0: none. */
static enum th_delivery
post(struct th_receiver *receiver, const struct th_push_request *request, int64_t *wait_ret)
{
	struct list *list = make_headers(request, &receiver->headers);
	struct answer answer = {.length = 0};
	int64_t uploaded = 0;
	long status = 0;

	*wait_ret = 0;
	curl.error[0] = '\0';
	curl.set(curl.handle, OPTION_URL, request->url);
	curl.set(curl.handle, OPTION_POST_FIELDS, request->body);
	curl.set(curl.handle, OPTION_POST_BYTES, (int64_t)request->length);
	curl.set(curl.handle, OPTION_HEADERS, list);
	curl.set(curl.handle, OPTION_WRITE_DATA, &answer);
	int code = curl.perform(curl.handle);
	curl.get(curl.handle, RESULT_RESPONSE_CODE, &status);
	curl.get(curl.handle, RESULT_UPLOADED, &uploaded);
	curl.get(curl.handle, RESULT_RETRY_AFTER, wait_ret);
	curl.free_list(list);
	if (code) {
		snprintf(receiver->reason, sizeof(receiver->reason), "%.200s", curl.error);
		/* A request that was not sent whole cannot have been processed. */
		return uploaded < (int64_t)request->length ? TH_DELIVERY_REFUSED
							   : TH_DELIVERY_UNKNOWN;
	}
	snprintf(receiver->reason, sizeof(receiver->reason), "HTTP status %ld", status);
	enum th_delivery outcome = outcome_of(status);
	return outcome == TH_DELIVERY_ACCEPTED && is_partial(receiver, &answer)
		       ? TH_DELIVERY_REJECTED
		       : outcome;
}

enum th_delivery
th_delivery_send(struct th_receiver *receiver, const struct th_push_request *request)
{
	int64_t wait;
	enum th_delivery outcome = post(receiver, request, &wait);

	if (outcome == TH_DELIVERY_ACCEPTED)
		recover(receiver);
	else if (outcome != TH_DELIVERY_REJECTED)
		fail(receiver, wait);
	return outcome;
}

bool
th_delivery_send_logs(struct th_receiver *receiver, const struct th_push_request *request)
{
	int64_t wait;

	if (receiver->takes_no_logs)
		return false;
	enum th_delivery outcome = post(receiver, request, &wait);
	if (outcome == TH_DELIVERY_ACCEPTED)
		return true;
	th_notice("push: %s: leaks cannot be sent as log records: %s", receiver->text,
		receiver->reason);
	receiver->takes_no_logs = outcome == TH_DELIVERY_REJECTED ||
				  !strcmp(receiver->reason, "HTTP status 404");
	return false;
}
