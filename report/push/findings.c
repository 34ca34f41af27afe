/* SPDX-License-Identifier: Apache-2.0 */
#include "report/push/push.h"

#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"
#include "report/base/line.h"
#include "report/leaks/leaks.h"
#include "report/views/parts.h"
#include "report/views/view.h"

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

static json_t *
attribute(const char *key, const char *type, json_t *value)
{
	return th_json("key value", key, json_pack("{s:o}", type, value));
}

static json_t *
text_attribute(const char *key, const char *text)
{
	return attribute(key, "stringValue", json_string(text));
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
		const char *name = th_printed("{}{}", key, values[i].suffix);

		th_json_append(
			list, attribute(name, "doubleValue", json_real(values[i].value)));
	}
}

/* The frames of the site with most live bytes, one a line, leaf first. */
static const char *
stack_text(const struct th_leaks *leaks, const struct th_leak_site *site)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_leaks_path(leaks, site);
	struct th_line text;

	th_line_begin(&text);
	for (uint32_t i = path.count; i-- > 0;)
		fprintf(text.stream, "%s\n",
			th_frames_function_name(
				frames, th_frames_function_at(frames, path.frames[i])));
	return th_line_text(&text);
}

static json_t *
record_json(const struct th_leaks *leaks, const struct th_listed *listed, const char *stack,
	const char *time)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_finding finding = th_leaks_next(leaks, listed->group);
	const struct th_leak_site *site = &leaks->places.items[finding.place];
	const char *class_name = th_frames_string(frames, site->class_name);
	const char *body = th_printed("leak: {b} live, {b}/s, {}: {}",
		&finding.evidence.live_bytes, &finding.evidence.growth,
		((struct th_text){stack, (uint32_t)strcspn(stack, "\n")}),
		th_evidence_explain(&finding.evidence));
	json_t *attributes = th_json_list(
		text_attribute("twinheap.heap", th_heap_word(site->heap)));

	if (class_name[0])
		th_json_append(attributes, text_attribute("twinheap.class", class_name));
	th_json_append(attributes,
		text_attribute("thread.name", th_frames_function_name(frames, site->thread)));
	add_estimate(attributes, "twinheap.live_bytes", &finding.evidence.live_bytes);
	add_estimate(attributes, "twinheap.growth_bytes_per_s", &finding.evidence.growth);
	th_json_append(attributes, text_attribute("code.stacktrace", stack));
	return th_json(
		"timeUnixNano observedTimeUnixNano severityNumber severityText eventName body "
		"attributes",
		time, time, SEVERITY_WARN, "WARN", "twinheap.leak",
		th_json("stringValue", body), attributes);
}

/* The records of leaks that were not accepted; their hashes are added. */
static json_t *
new_records(struct th_findings *findings, const struct th_leaks *leaks, uint64_t now)
{
	const char *time = th_printed("{}", now);
	json_t *records = json_array();

	findings->hashes_count = findings->accepted;
	for (size_t i = 0; i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];

		if (listed->verdict != TH_VERDICT_LEAK)
			break; /* the worst come first */
		if (th_causes_is_part(leaks, th_causes_number_of(leaks, listed)))
			continue;
		const char *stack = stack_text(leaks, &leaks->places.items[listed->place]);
		if (add_hash(findings, th_hash_text(stack)))
			th_json_append(records, record_json(leaks, listed, stack, time));
	}
	return records;
}

bool
th_findings_request(struct th_findings *findings, const struct th_profile *profile,
	const char *url, const struct th_labels *labels, uint64_t now,
	struct th_push_request *request_ret)
{
	struct th_leaks leaks;

	th_leaks_init(&leaks, profile);
	json_t *records = new_records(findings, &leaks, now);
	th_leaks_deinit(&leaks);
	if (!json_array_size(records)) {
		json_decref(records);
		return false;
	}
	json_t *resource = th_json_map(label, labels->items, labels->items_count,
		text_attribute(label->key, label->value));
	json_t *scope = th_json(
		"scope logRecords", th_json("name version", "twinheap", TH_VERSION), records);
	json_t *body = th_json(
		"resourceLogs", th_json_list(th_json("resource scopeLogs",
					th_json("attributes", resource), th_json_list(scope))));
	*request_ret = (struct th_push_request){
		.url = th_format_new("%s/v1/logs", url),
		.content_type = "application/json",
		.body = th_json_dump(body, 0),
	};
	request_ret->length = strlen(request_ret->body);
	return true;
}
