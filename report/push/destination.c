/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/destination.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/gzip.h"
#include "unify/shared/clock.h"

static const char *const kinds[] = {
	[TH_TO_OTLP] = "otlp+",
	[TH_TO_PYROSCOPE] = "pyroscope+",
	[TH_TO_PARCA] = "parca+",
	[TH_TO_PPROF] = "pprof+",
};

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
read_kind(const char *text, enum th_destination_kind *kind_ret)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*kind_ret = (enum th_destination_kind)i;
		if (begins(text, kinds[i]))
			return text + strlen(kinds[i]);
	}
	return NULL;
}

struct th_error *
th_destination_init(struct th_destination *destination, const char *text)
{
	const char *endpoint = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
	const char *url = endpoint;

	*destination = (struct th_destination){0};
	if (text)
		url = read_kind(text, &destination->kind);
	else if (!endpoint || !endpoint[0])
		return th_error_create(TH_ERROR_USAGE,
			"push: requires --to URL, or OTEL_EXPORTER_OTLP_ENDPOINT");
	if (!url || !is_http(url))
		return th_error_create(TH_ERROR_USAGE,
			"push: %s: is none of otlp+http://HOST:PORT, pyroscope+http, "
			"parca+http, pprof+http, or these with https",
			text ? text : endpoint);
	destination->text = th_format_new("%s", text ? text : endpoint);
	destination->url = th_format_new("%s", url);
	for (size_t end = strlen(url); end && destination->url[end - 1] == '/';)
		destination->url[--end] = '\0';
	th_labels_parse(&destination->headers, getenv("OTEL_EXPORTER_OTLP_HEADERS"));
	return NULL;
}

void
th_destination_deinit(struct th_destination *destination)
{
	free(destination->text);
	free(destination->url);
	th_labels_deinit(&destination->headers);
}

void
th_request_body_deinit(struct th_request_body *request)
{
	free(request->url);
	free(request->bytes);
	*request = (struct th_request_body){0};
}

/* OTLP */

static void
write_otlp(const struct th_destination *destination, const struct th_export_part *parts,
	size_t parts_count, struct th_request_body *request)
{
	size_t length;
	uint8_t *bytes = th_export_otlp(parts, parts_count, &length);
	FILE *file = open_memstream(&request->bytes, &request->length);

	if (!file)
		th_out_of_memory();
	struct th_gzip *gzip = th_gzip_create(file);
	th_gzip_write(gzip, bytes, length);
	th_gzip_destroy(gzip);
	fclose(file);
	free(bytes);
	request->url = th_format_new("%s/v1development/profiles", destination->url);
	request->content_type = "application/x-protobuf";
	request->is_gzipped = true;
	for (size_t i = 0; i < parts_count; i++)
		request->has_alloc |= (parts[i].values & TH_EXPORT_ALLOC) != 0;
}

/* pprof */

static void
write_pprof(const struct th_export_part *part, struct th_request_body *request)
{
	FILE *file = open_memstream(&request->bytes, &request->length);

	if (!file)
		th_out_of_memory();
	th_export_pprof(file, part);
	fclose(file);
	request->content_type = "application/octet-stream";
	request->has_alloc = (part->values & TH_EXPORT_ALLOC) != 0;
}

/* A name of a label: letters, digits and "_". To be freed. */
static char *
plain_name(const char *key)
{
	char *name = th_format_new("%s%s", isdigit((unsigned char)key[0]) ? "_" : "", key);

	for (char *at = name; *at; at++) {
		if (!isalnum((unsigned char)*at))
			*at = '_';
	}
	return name;
}

static void
print_encoded(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
			fputc(*text, file);
		else
			fprintf(file, "%%%02X", (unsigned char)*text);
	}
}

/* Prints the text with characters that separate labels replaced. */
static void
print_value(FILE *file, const char *value)
{
	for (; *value; value++)
		fputc(strchr("{},=\"", *value) ? '_' : *value, file);
}

/* Pyroscope's "app{key=value,...}", to be freed. */
static char *
pyroscope_name(const struct th_labels *labels)
{
	const char *service = th_labels_get(labels, "service.name");
	const char *separator = "{";
	char *name;
	size_t length;
	FILE *file = open_memstream(&name, &length);

	if (!file)
		th_out_of_memory();
	print_value(file, service ? service : "unknown_service");
	for (size_t i = 0; i < labels->items_count; i++) {
		char *key = plain_name(labels->items[i].key);

		fprintf(file, "%s%s=", separator, key);
		print_value(file, labels->items[i].value);
		separator = ",";
		free(key);
	}
	fputs(labels->items_count ? "}" : "{}", file);
	fclose(file);
	return name;
}

static void
write_pyroscope(const struct th_destination *destination, const struct th_export_part *part,
	struct th_request_body *request)
{
	char *name = pyroscope_name(part->labels);
	size_t length;
	uint64_t from = part->start / TH_NS_PER_S;
	uint64_t until = (part->start + part->duration + TH_NS_PER_S - 1) / TH_NS_PER_S;

	write_pprof(part, request);
	FILE *file = open_memstream(&request->url, &length);
	if (!file)
		th_out_of_memory();
	fprintf(file, "%s/ingest?name=", destination->url);
	print_encoded(file, name);
	fprintf(file, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof", from,
		until > from ? until : from + 1);
	fclose(file);
	free(name);
}

/* Parca */

/* Base64 of RFC 4648, to be freed. */
static char *
encode_base64(const char *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = th_allocate(length / 3 * 4 + 5, 1);
	char *to = text;

	for (size_t i = 0; i < length; i += 3) {
		uint32_t word = 0;

		for (size_t j = 0; j < 3; j++)
			word = word << 8 | (i + j < length ? (uint8_t)bytes[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*to++ = i + j <= length ? digits[word >> (18 - 6 * j) & 63] : '=';
	}
	return text;
}

static json_t *
parca_label(const char *key, const char *value)
{
	char *name = plain_name(key);
	json_t *label = json_pack("{s:s, s:s}", "name", name, "value", value);

	free(name);
	return label;
}

static json_t *
parca_labels(const struct th_labels *labels)
{
	json_t *list = json_array();

	json_array_append_new(
		list, json_pack("{s:s, s:s}", "name", "__name__", "value", "memory"));
	for (size_t i = 0; i < labels->items_count; i++)
		json_array_append_new(
			list, parca_label(labels->items[i].key, labels->items[i].value));
	return list;
}

/* Names are resolved, so addresses need not be: "normalized". */
static void
write_parca(const struct th_destination *destination, const struct th_export_part *part,
	struct th_request_body *request)
{
	write_pprof(part, request);
	char *profile = encode_base64(request->bytes, request->length);
	json_t *body = json_pack("{s:b, s:[{s:{s:o}, s:[{s:s}]}]}", "normalized", 1, "series",
		"labels", "labels", parca_labels(part->labels), "samples", "rawProfile",
		profile);

	free(request->bytes);
	request->bytes = json_dumps(body, JSON_COMPACT);
	if (!request->bytes)
		th_out_of_memory();
	request->length = strlen(request->bytes);
	request->content_type = "application/json";
	request->url = th_format_new("%s/api/profiles/writeraw", destination->url);
	json_decref(body);
	free(profile);
}

static void
write_part(const struct th_destination *destination, const struct th_export_part *part,
	struct th_request_body *request)
{
	if (destination->kind == TH_TO_PYROSCOPE) {
		write_pyroscope(destination, part, request);
	} else if (destination->kind == TH_TO_PARCA) {
		write_parca(destination, part, request);
	} else {
		write_pprof(part, request);
		request->url = th_format_new("%s/v1/pprof", destination->url);
	}
}

size_t
th_destination_requests(const struct th_destination *destination,
	const struct th_export_part *parts, size_t parts_count,
	struct th_request_body requests_ret[TH_REQUESTS_MAX])
{
	for (size_t i = 0; i < TH_REQUESTS_MAX; i++)
		requests_ret[i] = (struct th_request_body){0};
	if (destination->kind == TH_TO_OTLP) {
		write_otlp(destination, parts, parts_count, &requests_ret[0]);
		return 1;
	}
	for (size_t i = 0; i < parts_count; i++)
		write_part(destination, &parts[i], &requests_ret[i]);
	return parts_count;
}
