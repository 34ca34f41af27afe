/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_parts.h"

#include <stdlib.h>

#include "report/allocate.h"

json_t *
th_json_text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

json_t *
th_json_log_text(struct th_text text)
{
	char *clean = th_text_clean(text);
	json_t *json = json_string(clean);

	free(clean);
	return json;
}

json_t *
th_json_estimate(const struct th_estimate *estimate)
{
	json_t *json = json_pack("{s:f, s:[f, f], s:I}", "estimate", estimate->estimate, "ci95",
		estimate->low, estimate->high, "samples", (json_int_t)estimate->samples);

	if (estimate->exact)
		json_object_set_new(json, "exact", json_true());
	return json;
}

static const char *
kind_name(enum th_function_kind kind)
{
	switch (kind) {
	case TH_KIND_JAVA:
		return "java";
	case TH_KIND_NATIVE:
		return "native";
	default:
		return "vm";
	}
}

json_t *
th_json_function(
	const struct th_frames *frames, uint32_t number, const char *file, uint32_t line)
{
	const struct th_function *function = th_frames_function(frames, number);

	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "name",
		th_frames_string(frames, function->name), "kind", kind_name(function->kind),
		"module", th_json_text_or_null(th_frames_string(frames, function->module)),
		"file", th_json_text_or_null(file), "line",
		line ? json_integer(line) : json_null());
}

json_t *
th_json_frame(const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);

	return th_json_function(
		frames, frame->function, th_frames_string(frames, frame->file), frame->line);
}

static void
add_filter(void *data, const char *name, const char *value)
{
	json_object_set_new(data, name, th_json_log_text(th_text_of(value)));
}

json_t *
th_json_filters(const struct th_options *options)
{
	json_t *json = json_object();

	th_options_each_filter(options, add_filter, json);
	return json;
}

char *
th_json_dump(json_t *json, size_t flags)
{
	char *text = json_dumps(json, JSON_COMPACT | flags);

	if (!text)
		th_out_of_memory();
	json_decref(json);
	return text;
}
