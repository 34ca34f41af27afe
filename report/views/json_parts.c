/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the JSON outputs that several views share: estimates, functions, filters, and the
 * recorded part of the process's life.  Objects are built with jansson; texts from the log are
 * made printable first.
 */
#include "report/views/json_parts.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/heap_names.h"
#include "report/statistics/sampling_changes.h"

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

/* Recorded */

static double
seconds_at(const struct th_recording *recording, uint64_t time)
{
	return time > recording->start ? (double)(time - recording->start) / 1e9 : 0;
}

/* Names of the heaps in a set of bits 1 << enum th_heap. */
static json_t *
heaps_json(uint64_t heaps)
{
	json_t *json = json_array();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		if (heaps >> heap & 1)
			json_array_append_new(
				json, json_string(th_heap_word((enum th_heap)heap)));
	}
	return json;
}

/* Globs of thread names; null: all threads. */
static json_t *
threads_json(struct th_text globs)
{
	return globs.length ? th_json_log_text(globs) : json_null();
}

struct pauses {
	const struct th_recording *recording;
	json_t *json;
};

static void
add_pause(void *data, uint64_t from, uint64_t to)
{
	const struct pauses *pauses = data;

	json_array_append_new(pauses->json,
		json_pack("{s:f, s:f}", "from_s", seconds_at(pauses->recording, from), "to_s",
			seconds_at(pauses->recording, to)));
}

static json_t *
pauses_json(const struct th_recording *recording)
{
	struct pauses pauses = {recording, json_array()};

	th_sampling_changes_each_pause(recording, add_pause, &pauses);
	return pauses.json;
}

/* Changes of the sampled heaps or threads, with their times. */
static json_t *
changes_json(const struct th_recording *recording)
{
	json_t *json = json_array();

	for (size_t i = 0; i < recording->changes_count; i++) {
		const struct th_decoded_control *change = &recording->changes[i];
		double at = seconds_at(recording, change->time);

		if (th_text_equals(change->name, "heaps"))
			json_array_append_new(
				json, json_pack("{s:f, s:o}", "from_s", at, "heaps",
					      heaps_json(change->value)));
		if (th_text_equals(change->name, "threads"))
			json_array_append_new(
				json, json_pack("{s:f, s:o}", "from_s", at, "threads",
					      threads_json(change->text)));
	}
	return json;
}

/* When recording was stopped on request while the process went on; null if it was not. */
static json_t *
stop_json(const struct th_recording *recording)
{
	for (size_t i = 0; i < recording->changes_count; i++) {
		if (th_text_equals(recording->changes[i].name, "stop"))
			return json_real(seconds_at(recording, recording->changes[i].time));
	}
	return json_null();
}

static json_t *
sampled_json(const struct th_recording *recording)
{
	json_t *json = json_object();

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		uint64_t sampled = th_sampling_changes_sampled(
			recording, (enum th_heap)heap, recording->start, recording->end);

		json_object_set_new(json, th_heap_word((enum th_heap)heap),
			json_real((double)sampled / 1e9));
	}
	return json;
}

json_t *
th_json_recorded(const struct th_recording *recording)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "heaps",
		heaps_json(th_recording_heaps(recording)), "threads",
		threads_json(th_recording_setting(recording, "TWINHEAP_THREADS")), "pauses",
		pauses_json(recording), "changes", changes_json(recording), "stopped_s",
		stop_json(recording), "sampled_s", sampled_json(recording));
}

json_t *
th_json_moment(const struct th_profile *profile)
{
	bool is_before = th_profile_is_before_teardown(profile);

	return json_pack("{s:f, s:o}", "at_s", th_profile_seconds(profile, profile->at.time),
		"before",
		is_before ? json_string(th_teardown_reason(&profile->teardown)) : json_null());
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

void
th_json_set_part(json_t *json, const struct th_leaks *leaks, uint32_t number)
{
	if (!th_causes_is_part(leaks, number))
		return;
	json_object_set_new(json, "verdict", json_string("part"));
	json_object_set_new(json, "part_of",
		json_integer((json_int_t)th_causes_leader_index(leaks, number)));
}
