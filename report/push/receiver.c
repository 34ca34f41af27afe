/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/receiver.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/gzip.h"
#include "unify/shared/clock.h"

#define FIRST_DELAY (TH_NS_PER_S)
#define LAST_DELAY (300 * TH_NS_PER_S)

static bool
begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool
is_http(const char *url)
{
	size_t prefix = begins(url, "http://") ? 7 : begins(url, "https://") ? 8 : 0;

	return prefix && url[prefix] && url[prefix] != '/';
}

/* The URL behind the prefix of the kind; NULL: the text has no kind. */
static const char *
read_kind(const char *text, enum th_receiver_kind *kind_ret)
{
	static const char *const kinds[] = {
		[TH_TO_OTLP] = "otlp+",
		[TH_TO_PYROSCOPE] = "pyroscope+",
		[TH_TO_PPROF] = "pprof+",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*kind_ret = (enum th_receiver_kind)i;
		if (begins(text, kinds[i]))
			return text + strlen(kinds[i]);
	}
	return NULL;
}

struct th_error *
th_receiver_init(struct th_receiver *receiver, const char *text)
{
	const char *endpoint = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	const char *url = endpoint;

	*receiver = (struct th_receiver){0};
	if (text)
		url = read_kind(text, &receiver->kind);
	else if (!endpoint || !endpoint[0])
		return th_error_create(TH_ERROR_USAGE,
			"push: requires --to URL, or OTEL_EXPORTER_OTLP_ENDPOINT");
	if (!url || !is_http(url))
		return th_error_create(TH_ERROR_USAGE,
			"push: %s: is none of otlp+http://HOST:PORT, pyroscope+http, "
			"pprof+http, or these with https",
			text ? text : endpoint);
	receiver->text = th_format_new("%s", text ? text : endpoint);
	receiver->url = th_format_new("%s", url);
	for (size_t end = strlen(url); end && receiver->url[end - 1] == '/';)
		receiver->url[--end] = '\0';
	th_labels_parse(&receiver->headers, getenv("OTEL_EXPORTER_OTLP_HEADERS"));
	return NULL;
}

void
th_receiver_deinit(struct th_receiver *receiver)
{
	free(receiver->text);
	free(receiver->url);
	th_labels_deinit(&receiver->headers);
}

/* Requests */

static FILE *
open_body(struct th_http_request *request)
{
	FILE *file = open_memstream(&request->body, &request->length);

	if (!file)
		th_out_of_memory();
	return file;
}

static void
write_otlp(const struct th_receiver *receiver, const struct th_export_part *parts,
	size_t parts_count, struct th_http_request *request)
{
	size_t length;
	uint8_t *bytes = th_export_otlp(parts, parts_count, &length);
	FILE *file = open_body(request);
	struct th_gzip *gzip = th_gzip_create(file);

	th_gzip_write(gzip, bytes, length);
	th_gzip_destroy(gzip);
	fclose(file);
	free(bytes);
	request->url = th_format_new("%s/v1development/profiles", receiver->url);
	request->content_type = "application/x-protobuf";
	request->is_gzipped = true;
}

/* A name of a label: letters, digits and "_". */
static void
print_key(FILE *file, const char *key)
{
	if (isdigit((unsigned char)*key))
		fputc('_', file);
	for (; *key; key++)
		fputc(isalnum((unsigned char)*key) ? *key : '_', file);
}

/* Characters that separate labels are replaced. */
static void
print_value(FILE *file, const char *value)
{
	for (; *value; value++)
		fputc(strchr("{},=\"", *value) ? '_' : *value, file);
}

/* Pyroscope's "app{key=value,...}", escaped, to be freed. */
static char *
pyroscope_name(const struct th_labels *labels)
{
	const char *service = th_labels_get(labels, "service.name");
	char *name;
	size_t length;
	FILE *file = open_memstream(&name, &length);

	if (!file)
		th_out_of_memory();
	print_value(file, service ? service : "unknown_service");
	for (size_t i = 0; i < labels->items_count; i++) {
		fputs(i ? "," : "{", file);
		print_key(file, labels->items[i].key);
		fputc('=', file);
		print_value(file, labels->items[i].value);
	}
	fputs(labels->items_count ? "}" : "{}", file);
	fclose(file);
	char *escaped = th_http_escape(name);
	free(name);
	return escaped;
}

static char *
pyroscope_url(const struct th_receiver *receiver, const struct th_export_part *part)
{
	uint64_t from = part->start / TH_NS_PER_S;
	uint64_t until = (part->start + part->duration + TH_NS_PER_S - 1) / TH_NS_PER_S;
	char *name = pyroscope_name(part->labels);
	char *url = th_format_new("%s/ingest?name=%s&from=%" PRIu64 "&until=%" PRIu64
				  "&format=pprof",
		receiver->url, name, from, until > from ? until : from + 1);

	free(name);
	return url;
}

static void
write_pprof(const struct th_receiver *receiver, const struct th_export_part *part,
	struct th_http_request *request)
{
	FILE *file = open_body(request);

	th_export_pprof(file, part);
	fclose(file);
	request->content_type = "application/octet-stream";
	request->url = receiver->kind == TH_TO_PYROSCOPE
			       ? pyroscope_url(receiver, part)
			       : th_format_new("%s/v1/pprof", receiver->url);
}

size_t
th_receiver_requests(const struct th_receiver *receiver, const struct th_export_part *parts,
	size_t parts_count, struct th_http_request requests_ret[TH_REQUESTS_MAX])
{
	if (receiver->kind == TH_TO_OTLP) {
		write_otlp(receiver, parts, parts_count, &requests_ret[0]);
		return 1;
	}
	for (size_t i = 0; i < parts_count; i++)
		write_pprof(receiver, &parts[i], &requests_ret[i]);
	return parts_count;
}

/* Delivery */

/* A fifth more or less, so that the processes of a fleet do not return at the same time. */
static uint64_t
spread(uint64_t delay)
{
	return delay - delay / 5 + (uint64_t)random() % (delay / 5 * 2);
}

static void
fail(struct th_receiver *receiver, uint64_t retry_after)
{
	uint64_t now = th_clock_now();

	if (!receiver->delay) {
		receiver->failing = now;
		th_notice("push: %s: %s; trying again, windows are merged meanwhile",
			receiver->text, receiver->reason);
	}
	receiver->delay = receiver->delay ? receiver->delay * 2 : FIRST_DELAY;
	if (receiver->delay > LAST_DELAY)
		receiver->delay = LAST_DELAY;
	uint64_t wait = spread(receiver->delay);
	receiver->blocked = now + (retry_after > wait ? retry_after : wait);
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

/* A field of a protobuf message. */
struct field {
	uint64_t key;   /* field number << 3 | how it is encoded */
	uint64_t value; /* of a text or message its length */
	const char *text;
};
enum { FIELD_NUMBER = 0, FIELD_TEXT = 2 };

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

/* Reads the field at *at, and moves behind it; false: no number, text or message ends by `end`. */
static bool
read_field(const char **at, const char *end, struct field *field)
{
	if (!read_varint(at, end, &field->key) || !read_varint(at, end, &field->value))
		return false;
	field->text = *at;
	if ((field->key & 7) == FIELD_NUMBER)
		return true;
	if ((field->key & 7) != FIELD_TEXT || field->value > (uint64_t)(end - *at))
		return false;
	*at += field->value;
	return true;
}

/*
 * Reads ExportProfilesPartialSuccess, {rejected_profiles = 1, error_message = 2}; whether any
 * were rejected.
 */
static bool
read_partial(struct field part, struct th_http_answer *answer)
{
	const char *at = part.text;
	const char *end = at + part.value;
	struct field field, message = {.text = ""};
	uint64_t rejected = 0;

	while (at < end && read_field(&at, end, &field)) {
		if (field.key == (1 << 3 | FIELD_NUMBER))
			rejected = field.value;
		else if (field.key == (2 << 3 | FIELD_TEXT))
			message = field;
	}
	if (rejected)
		snprintf(answer->reason, sizeof(answer->reason), "%.*s",
			(int)(message.value < 200 ? message.value : 200), message.text);
	return rejected;
}

/* OTLP: whether the answer to an accepted request says that items were rejected. */
static bool
is_partial(const struct th_receiver *receiver, struct th_http_answer *answer)
{
	const char *at = answer->body;
	const char *end = at + answer->body_length;
	struct field field;

	/* A response for logs has the same fields: {partial_success = 1}. */
	if (receiver->kind != TH_TO_OTLP || answer->body_length == sizeof(answer->body))
		return false;
	while (at < end && read_field(&at, end, &field))
		if (field.key == (1 << 3 | FIELD_TEXT) && read_partial(field, answer))
			return true;
	return false;
}

/* Its reason is that of the receiver afterwards. */
static struct th_http_answer
post(struct th_receiver *receiver, const struct th_http_request *request)
{
	struct th_http_answer answer;

	th_http_post(request, &receiver->headers, &answer);
	if (answer.outcome == TH_HTTP_ACCEPTED && is_partial(receiver, &answer))
		answer.outcome = TH_HTTP_REJECTED;
	memcpy(receiver->reason, answer.reason, sizeof(receiver->reason));
	return answer;
}

enum th_http_outcome
th_receiver_send(struct th_receiver *receiver, const struct th_http_request *request)
{
	struct th_http_answer answer = post(receiver, request);

	if (answer.outcome == TH_HTTP_ACCEPTED)
		recover(receiver);
	else if (answer.outcome != TH_HTTP_REJECTED)
		fail(receiver, answer.wait);
	return answer.outcome;
}

bool
th_receiver_send_logs(struct th_receiver *receiver, const struct th_http_request *request)
{
	if (receiver->takes_no_logs)
		return false;
	struct th_http_answer answer = post(receiver, request);

	if (answer.outcome == TH_HTTP_ACCEPTED)
		return true;
	th_notice("push: %s: leaks cannot be sent as log records: %s", receiver->text,
		answer.reason);
	receiver->takes_no_logs = answer.outcome == TH_HTTP_REJECTED ||
				  !strcmp(answer.reason, "HTTP status 404");
	return false;
}
