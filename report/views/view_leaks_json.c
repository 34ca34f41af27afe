/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks --format json.  Findings are printed in batches: while one batch is printed, a worker
 * thread measures the next one.
 */
#include "report/views/view.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/heap_names.h"
#include "report/base/worker.h"
#include "report/views/frame_texts.h"
#include "report/views/json_parts.h"
#include "report/views/tallied_parts.h"

/* Findings per batch: enough to outweigh the cost of a thread. */
#define BATCH 256

struct printer {
	FILE *file;
	const struct th_leaks *leaks;
	struct th_frame_texts frames;
};

/* Root first; VM-internal memory is one frame. */
static json_t *
frames_json(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_leaks_path(leaks, place);
	json_t *list = json_array();

	if (place->internal) {
		uint32_t function = th_frames_special_function(
			frames, place->internal, "", TH_KIND_GROUP);

		json_array_append_new(list, th_json_function(frames, function, "", 0));
		return list;
	}
	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(list, th_json_frame(frames, path.frames[i]));
	return list;
}

static json_t *
owner_json(const struct th_leaks *leaks, const struct th_owner *owner)
{
	if (owner->place == TH_NO_PLACE)
		return json_null();
	const struct th_leak_site *place = &leaks->places.items[owner->place];
	return json_pack("{s:s, s:o, s:s, s:I, s:I}", "class",
		th_frames_string(leaks->profile->frames, place->class_name), "frames",
		frames_json(leaks, place), "state", owner->is_collected ? "collected" : "alive",
		"samples", (json_int_t)owner->samples, "samples_collected",
		(json_int_t)owner->collected);
}

static void
set_evidence(json_t *json, const struct th_evidence *evidence)
{
	char *why = th_evidence_explain(evidence);
	json_t *figures = json_pack("{s:o, s:o, s:o, s:f, s:f, s:I, s:b, s:s}", "live_bytes",
		th_json_estimate(&evidence->live_bytes), "live_objects",
		th_json_estimate(&evidence->live_objects), "growth_bytes_per_s",
		th_json_estimate(&evidence->growth), "survivors_per_allocation",
		evidence->survivors, "median_age_s", evidence->median_age,
		"collections_survived", (json_int_t)evidence->collections, "still_growing",
		evidence->is_growing, "why", why);

	if (evidence->heap == TH_HEAP_MAPPED) {
		json_object_set_new(json, "mapped_bytes", json_real(evidence->live));
		json_object_set_new(json, "is_resident", json_boolean(evidence->is_resident));
	}
	json_object_update(json, figures);
	json_decref(figures);
	free(why);
}

/* Members of a finding before its frames and after them. */
static json_t *
head_json(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];

	return json_pack("{s:s, s:s, s:o, s:s}", "verdict",
		th_verdict_name(finding->evidence.verdict), "heap", th_heap_word(place->heap),
		"class", th_json_text_or_null(th_frames_string(frames, place->class_name)),
		"thread", th_frames_function_name(frames, place->thread));
}

static json_t *
rest_json(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	json_t *json = json_pack("{s:I, s:o}", "stacks", (json_int_t)finding->place_count,
		"owner", owner_json(leaks, &finding->owner));

	set_evidence(json, &finding->evidence);
	if (leaks->profile->options->group_by)
		json_object_set_new(json, "group",
			json_string(
				th_frames_function_name(frames, th_leaks_group(leaks, place))));
	return json;
}

static void
print_frames(struct printer *printer, const struct th_leak_site *place)
{
	struct th_path path = th_leaks_path(printer->leaks, place);

	if (!place->internal) {
		fputs(",\"frames\":[", printer->file);
		th_frame_texts_print(&printer->frames, printer->file, &path);
		fputc(']', printer->file);
		return;
	}
	char *text = th_json_dump(frames_json(printer->leaks, place), 0);
	fprintf(printer->file, ",\"frames\":%s", text);
	free(text);
}

/* A frame of the application, or null. */
static void
print_line(struct printer *printer, const struct th_leak_site *place, const char *name,
	uint32_t (*find)(const struct th_leak_sites *, const struct th_leak_site *))
{
	uint32_t frame = place->creator ? find(&printer->leaks->places, place) : TH_NO_FRAME;

	fprintf(printer->file, ",\"%s\":%s", name,
		frame == TH_NO_FRAME ? "null" : th_frame_texts_get(&printer->frames, frame));
}

static void
print_finding(struct printer *printer, const struct th_finding *finding)
{
	const struct th_leak_site *place = &printer->leaks->places.items[finding->place];
	char *head = th_json_dump(head_json(printer->leaks, finding), JSON_EMBED);
	char *rest = th_json_dump(rest_json(printer->leaks, finding), JSON_EMBED);

	fprintf(printer->file, "{%s", head);
	print_frames(printer, place);
	print_line(printer, place, "creator", th_leak_sites_creator_frame);
	print_line(printer, place, "user", th_leak_sites_user_frame);
	fprintf(printer->file, ",%s}", rest);
	free(head);
	free(rest);
}

/* Consecutive findings, measured together. */
struct batch {
	const struct th_leaks *leaks;
	size_t first;
	size_t count;
	struct th_finding findings[BATCH];
};

static void *
measure(void *data)
{
	struct batch *batch = data;
	size_t left = batch->leaks->findings_count - batch->first;

	batch->count = left < BATCH ? left : BATCH;
	for (size_t i = 0; i < batch->count; i++)
		batch->findings[i] = th_leaks_measured(
			batch->leaks, &batch->leaks->findings[batch->first + i]);
	return NULL;
}

static void
print_batch(struct printer *printer, const struct batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		fputs(batch->first + i || printer->leaks->tallies.items_count ? ",\n  "
									      : "\n  ",
			printer->file);
		print_finding(printer, &batch->findings[i]);
	}
}

/*
 * A worker measures the next batch while one is printed, unless printing creates new paths,
 * which options that shape stacks do.
 */
static void
print_findings(struct printer *printer)
{
	const struct th_leaks *leaks = printer->leaks;
	bool is_aside = !th_options_shape_stacks(leaks->profile->options);
	struct batch *batches = th_allocate(2, sizeof(*batches));
	struct th_worker aside = {.is_running = false};

	batches[0].leaks = batches[1].leaks = leaks;
	measure(&batches[0]);
	for (int at = 0; batches[at].count; at = !at) {
		struct batch *next = &batches[!at];

		next->first = batches[at].first + batches[at].count;
		if (is_aside)
			th_worker_begin(&aside, measure, next);
		print_batch(printer, &batches[at]);
		th_worker_end(&aside);
		if (!is_aside)
			measure(next);
	}
	free(batches);
}

static void
print_tallies(struct printer *printer)
{
	const struct th_tallies *tallies = &printer->leaks->tallies;

	for (size_t i = 0; i < tallies->items_count; i++) {
		char *text = th_json_dump(
			th_tallied_json(printer->leaks, &tallies->items[i]), 0);

		fprintf(printer->file, "%s%s", i ? ",\n  " : "\n  ", text);
		free(text);
	}
}

void
th_view_leaks_json(FILE *file, const struct th_leaks *leaks)
{
	struct printer printer = {.file = file, .leaks = leaks};
	char *recorded = th_json_dump(th_json_recorded(leaks->profile->recording), 0);
	char *filters = th_json_dump(th_json_filters(leaks->profile->options), 0);

	fprintf(file,
		"{\"twinheap\": 1,\n \"recorded\": %s,\n \"filters\": %s,\n \"findings\": [",
		recorded, filters);
	free(recorded);
	free(filters);
	th_frame_texts_init(&printer.frames, leaks->profile->frames);
	print_tallies(&printer);
	print_findings(&printer);
	th_frame_texts_deinit(&printer.frames);
	fputs("]}\n", file);
}
