/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/base/hash.h"
#include "report/base/heap_names.h"
#include "report/leaks/causes.h"
#include "report/leaks/leaks.h"
#include "report/views/json_parts.h"

/* SeverityNumber of OpenTelemetry's logs. */
#define SEVERITY_WARN 13

/* Adds the hash; false if it is there. */
static bool
add_hash(struct th_findings *findings, uint64_t hash)
{
	for (size_t i = 0; i < findings->hashes_count; i++) {
		if (findings->hashes[i] == hash)
			return false;
	}
	th_array_append(findings, hashes, hash);
	return true;
}

/* Attributes */

static void
add_attribute(json_t *list, const char *key, const char *type, json_t *value)
{
	json_array_append_new(
		list, json_pack("{s:s, s:{s:o}}", "key", key, "value", type, value));
}

static void
add_text(json_t *list, const char *key, const char *text)
{
	add_attribute(list, key, "stringValue", json_string(text));
}

static void
add_estimate(json_t *list, const char *key, const struct th_estimate *estimate)
{
	const struct {
		const char *suffix;
		double value;
	} values[] = {{"", estimate->estimate}, {".ci95.low", estimate->low},
		{".ci95.high", estimate->high}};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *name = th_format_new("%s%s", key, values[i].suffix);

		add_attribute(list, name, "doubleValue", json_real(values[i].value));
		free(name);
	}
}

/* The frames of the site with most live bytes, one a line, leaf first; to be freed. */
static char *
stack_text(const struct th_leaks *leaks, const struct th_leak_site *site)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_leaks_path(leaks, site);
	char *text;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		th_out_of_memory();
	for (uint32_t i = path.count; i-- > 0;)
		fprintf(file, "%s\n",
			th_frames_function_name(
				frames, th_frames_function_at(frames, path.frames[i])));
	fclose(file);
	return text;
}

static json_t *
record_json(const struct th_leaks *leaks, const struct th_listed *listed, const char *stack,
	uint64_t now)
{
	struct th_finding finding = th_leaks_measured(leaks, listed);
	const struct th_leak_site *site = &leaks->places.items[finding.place];
	const char *class_name = th_frames_string(leaks->profile->frames, site->class_name);
	char *time = th_format_new("%" PRIu64, now);
	char *why = th_evidence_explain(&finding.evidence);
	char *body = th_format_new("leak: %s live, %s/s, %.*s: %s",
		th_format_number(finding.evidence.live_bytes.estimate, TH_UNIT_BYTES).text,
		th_format_number(finding.evidence.growth.estimate, TH_UNIT_BYTES).text,
		(int)strcspn(stack, "\n"), stack, why);
	json_t *attributes = json_array();

	add_text(attributes, "twinheap.heap", th_heap_word(site->heap));
	if (class_name[0])
		add_text(attributes, "twinheap.class", class_name);
	add_text(attributes, "thread.name",
		th_frames_function_name(leaks->profile->frames, site->thread));
	add_estimate(attributes, "twinheap.live_bytes", &finding.evidence.live_bytes);
	add_estimate(attributes, "twinheap.growth_bytes_per_s", &finding.evidence.growth);
	add_text(attributes, "code.stacktrace", stack);
	json_t *record = json_pack("{s:s, s:s, s:i, s:s, s:s, s:{s:s}, s:o}", "timeUnixNano",
		time, "observedTimeUnixNano", time, "severityNumber", SEVERITY_WARN,
		"severityText", "WARN", "eventName", "twinheap.leak", "body", "stringValue",
		body, "attributes", attributes);
	free(body);
	free(why);
	free(time);
	return record;
}

/* The records of leaks that were not accepted; their hashes are added. */
static json_t *
new_records(struct th_findings *findings, const struct th_leaks *leaks, uint64_t now)
{
	json_t *records = json_array();

	findings->hashes_count = findings->accepted;
	for (size_t i = 0; i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];

		if (listed->verdict != TH_VERDICT_LEAK)
			break; /* the worst come first */
		if (th_causes_is_part(leaks, th_causes_number_of(leaks, listed)))
			continue;
		char *stack = stack_text(leaks, &leaks->places.items[listed->place]);
		if (add_hash(findings, th_hash_text(stack)))
			json_array_append_new(records, record_json(leaks, listed, stack, now));
		free(stack);
	}
	return records;
}

static json_t *
resource_json(const struct th_labels *labels)
{
	json_t *attributes = json_array();

	for (size_t i = 0; i < labels->items_count; i++)
		add_text(attributes, labels->items[i].key, labels->items[i].value);
	return json_pack("{s:o}", "attributes", attributes);
}

bool
th_findings_request(struct th_findings *findings, const struct th_profile *profile,
	const char *url, const struct th_labels *labels, uint64_t now,
	struct th_http_request *request_ret)
{
	struct th_leaks leaks;

	th_leaks_init(&leaks, profile);
	json_t *records = new_records(findings, &leaks, now);
	th_leaks_deinit(&leaks);
	if (!json_array_size(records)) {
		json_decref(records);
		return false;
	}
	json_t *body = json_pack("{s:[{s:o, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceLogs",
		"resource", resource_json(labels), "scopeLogs", "scope", "name", "twinheap",
		"version", TH_VERSION, "logRecords", records);
	*request_ret = (struct th_http_request){
		.url = th_format_new("%s/v1/logs", url),
		.content_type = "application/json",
		.body = th_json_dump(body, 0),
	};
	request_ret->length = strlen(request_ret->body);
	return true;
}
