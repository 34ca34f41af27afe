/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/push.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/gzip.h"
#include "report/base/line.h"
#include "report/base/log_text.h"
#include "unify/shared/clock.h"

static bool
is_http(const char *url)
{
	size_t prefix = th_text_begins(url, "http://")    ? 7
			: th_text_begins(url, "https://") ? 8
							  : 0;

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
		if (th_text_begins(text, kinds[i]))
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

static void
write_otlp(const struct th_receiver *receiver, const struct th_export_part *parts,
	size_t parts_count, struct th_push_request *request)
{
	size_t length;
	uint8_t *bytes = th_export_otlp(parts, parts_count, &length);
	struct th_line body;

	th_line_begin(&body);
	FILE *gzip = th_gzip_open(body.stream);
	fwrite(bytes, 1, length, gzip);
	fclose(gzip);
	free(bytes);
	*request = (struct th_push_request){
		.url = th_format_new("%s/v1development/profiles", receiver->url),
		.content_type = "application/x-protobuf",
		.is_gzipped = true,
		.body = th_line_end(&body),
		.length = body.length,
	};
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

/* Escaped as in a URL; characters that separate labels are replaced. */
static void
print_value(FILE *file, const char *value)
{
	for (; *value; value++) {
		if (strchr("{},=\"", *value))
			fputc('_', file);
		else
			fprintf(file,
				isalnum((unsigned char)*value) || strchr("-._~", *value)
					? "%c"
					: "%%%02X",
				(unsigned char)*value);
	}
}

/* With Pyroscope's name, "app{key=value,...}". */
static char *
pyroscope_url(const struct th_receiver *receiver, const struct th_export_part *part)
{
	uint64_t from = part->start / TH_NS_PER_S;
	uint64_t until = (part->start + part->duration + TH_NS_PER_S - 1) / TH_NS_PER_S;
	const struct th_labels *labels = part->labels;
	const char *service = th_labels_get(labels, "service.name");
	struct th_line url;

	th_line_begin(&url);
	fprintf(url.stream, "%s/ingest?name=", receiver->url);
	print_value(url.stream, service ? service : "unknown_service");
	fputs("%7B", url.stream);
	for (size_t i = 0; i < labels->items_count; i++) {
		fputs(i ? "%2C" : "", url.stream);
		print_key(url.stream, labels->items[i].key);
		fputs("%3D", url.stream);
		print_value(url.stream, labels->items[i].value);
	}
	fprintf(url.stream, "%%7D&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof", from,
		until > from ? until : from + 1);
	return th_line_end(&url);
}

static void
write_pprof(const struct th_receiver *receiver, const struct th_export_part *part,
	struct th_push_request *request)
{
	struct th_line body;

	th_line_begin(&body);
	th_export_pprof(body.stream, part);
	*request = (struct th_push_request){
		.url = receiver->kind == TH_TO_PYROSCOPE
			       ? pyroscope_url(receiver, part)
			       : th_format_new("%s/v1/pprof", receiver->url),
		.content_type = "application/octet-stream",
		.body = th_line_end(&body),
		.length = body.length,
	};
}

size_t
th_receiver_requests(const struct th_receiver *receiver, const struct th_export_part *parts,
	size_t parts_count, struct th_push_request requests_ret[TH_REQUESTS_MAX])
{
	if (receiver->kind == TH_TO_OTLP) {
		write_otlp(receiver, parts, parts_count, &requests_ret[0]);
		return 1;
	}
	for (size_t i = 0; i < parts_count; i++)
		write_pprof(receiver, &parts[i], &requests_ret[i]);
	return parts_count;
}

void
th_push_request_deinit(struct th_push_request *request)
{
	free(request->url);
	free(request->body);
	*request = (struct th_push_request){0};
}
