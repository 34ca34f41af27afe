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
#include "report/leaks/released.h"
#include "report/views/frame_texts.h"
#include "report/views/holder_parts.h"
#include "report/views/json_parts.h"
#include "report/views/ledger_parts.h"
#include "report/views/outcome_parts.h"
#include "report/views/tallied_parts.h"

/* Findings per batch: enough to outweigh the cost of a thread. */
#define BATCH 256
/* Parts of a finding that are listed, largest first. */
#define PARTS_MAX 10

struct printer {
	FILE *file;
	const struct th_leaks *leaks;
	struct th_held_samples held;
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

static void
set_released(json_t *json, const struct th_profile *profile, const struct th_evidence *evidence)
{
	json_object_set_new(json, "freed_afterwards", json_real(th_released_part(evidence)));
	json_object_set_new(json, "released_only_at_exit",
		json_boolean(th_released_only_at_exit(profile, evidence)));
}

/* Members of a finding before its frames and after them. */
static json_t *
head_json(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];

	return json_pack("{s:s, s:s, s:o, s:s}", "verdict",
		th_verdict_name_by(finding->evidence.verdict, finding->evidence.reason), "heap",
		th_heap_word(place->heap), "class",
		th_json_text_or_null(th_frames_string(frames, place->class_name)), "thread",
		th_frames_function_name(frames, place->thread));
}

/* One finding in all its heaps, the leading one first. */
struct measured {
	const struct th_listed *listed;
	TH_ARRAY(struct th_finding, heaps);
};

/* Figures of each heap, and its largest site. */
static json_t *
heaps_json(const struct th_leaks *leaks, const struct measured *measured)
{
	const struct th_frames *frames = leaks->profile->frames;
	json_t *list = json_array();

	for (size_t i = 0; i < measured->heaps_count; i++) {
		const struct th_finding *finding = &measured->heaps[i];
		const struct th_leak_site *place = &leaks->places.items[finding->place];
		json_t *json = json_pack("{s:s, s:s, s:I, s:o, s:o}", "heap",
			th_heap_word(finding->evidence.heap), "verdict",
			th_verdict_name_by(finding->evidence.verdict, finding->evidence.reason),
			"stacks", (json_int_t)finding->place_count, "class",
			th_json_text_or_null(th_frames_string(frames, place->class_name)),
			"frames", frames_json(leaks, place));

		set_evidence(json, &finding->evidence);
		json_array_append_new(list, json);
	}
	return list;
}

/* The largest sites in all heaps, with their stacks. */
static json_t *
parts_json(const struct th_leaks *leaks, const struct th_listed *listed)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_leak_part parts[PARTS_MAX];
	json_t *list = json_array();
	double live;
	size_t count = th_leaks_parts(leaks, listed, parts, PARTS_MAX, &live);

	for (size_t i = 0; i < count && i < PARTS_MAX; i++) {
		const struct th_leak_site *place = &leaks->places.items[parts[i].place];

		json_array_append_new(list,
			json_pack("{s:s, s:o, s:f, s:f, s:I, s:o}", "heap",
				th_heap_word(place->heap), "class",
				th_json_text_or_null(
					th_frames_string(frames, place->class_name)),
				"share", live > 0 ? parts[i].live / live : 0, "live_bytes",
				parts[i].live, "samples", (json_int_t)parts[i].samples,
				"frames", frames_json(leaks, place)));
	}
	return list;
}

/* The method, class or library whose growth is significant; null: that of a line is. */
static json_t *
node_json(const struct th_leaks *leaks, const struct th_finding *finding)
{
	struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	switch (finding->level) {
	case TH_LEVEL_LINE:
		return json_null();
	case TH_LEVEL_PATH:
		return th_json_frame(
			frames, path.frames[leaks->places.ways.items[finding->key].length - 1]);
	default:
		return json_string(th_frames_string(frames, finding->key));
	}
}

static void
set_parts(json_t *json, const struct th_leaks *leaks, const struct measured *measured)
{
	const struct th_finding *finding = &measured->heaps[0];

	json_object_set_new(json, "level", json_string(th_leak_level_name(finding->level)));
	json_object_set_new(json, "node", node_json(leaks, finding));
	json_object_set_new(json, "lines", json_integer(finding->lines));
	json_object_set_new(json, "heaps", heaps_json(leaks, measured));
	json_object_set_new(json, "parts", parts_json(leaks, measured->listed));
}

/* Of memory that only collections free. */
static void
set_unclosed(json_t *json, const struct th_leaks *leaks, const struct th_finding *finding)
{
	char *wrapper = th_owners_wrapper(leaks, finding);

	json_object_set_new(json, "wrapper", th_json_text_or_null(wrapper ? wrapper : ""));
	json_object_set_new(
		json, "collected_bytes", json_real(finding->evidence.collected_bytes));
	if (th_owners_await_finalizer(leaks, finding->place))
		json_object_set_new(json, "await_finalizer",
			json_integer((json_int_t)leaks->finalizers.waiting));
	free(wrapper);
}

static void
set_advice(json_t *json, const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const char *advice = th_ledger_parts_advice(
		leaks->profile->frames, th_paths_get(leaks->profile->paths, place->path));

	if (advice && place->heap == TH_HEAP_NATIVE && !place->internal)
		json_object_set_new(json, "cause", json_string(advice));
}

static json_t *
rest_json(const struct printer *printer, const struct measured *measured)
{
	const struct th_leaks *leaks = printer->leaks;
	const struct th_finding *finding = &measured->heaps[0];
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	json_t *json = json_pack("{s:I, s:o, s:o}", "stacks", (json_int_t)finding->place_count,
		"owner", owner_json(leaks, &finding->owner), "holders",
		th_holder_parts_finding_json(&printer->held, measured->listed, finding));

	set_evidence(json, &finding->evidence);
	set_released(json, leaks->profile, &finding->evidence);
	set_advice(json, leaks, place);
	if (finding->evidence.reason == TH_REASON_UNCLOSED)
		set_unclosed(json, leaks, finding);
	if (finding->evidence.verdict == TH_VERDICT_LEAK)
		set_parts(json, leaks, measured);
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
print_finding(struct printer *printer, const struct measured *measured)
{
	const struct th_finding *finding = &measured->heaps[0];
	const struct th_leak_site *place = &printer->leaks->places.items[finding->place];
	json_t *members = head_json(printer->leaks, finding);
	th_json_set_part(
		members, printer->leaks, th_causes_number_of(printer->leaks, measured->listed));
	char *head = th_json_dump(members, JSON_EMBED);
	char *rest = th_json_dump(rest_json(printer, measured), JSON_EMBED);

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
	struct measured findings[BATCH];
};

static void
measure_finding(
	const struct th_leaks *leaks, const struct th_listed *listed, struct measured *measured)
{
	struct th_finding finding = th_leaks_measured(leaks, listed);

	measured->listed = listed;
	measured->heaps_count = 0;
	th_array_append(measured, heaps, finding);
	while (finding.next != UINT32_MAX) {
		finding = th_leaks_next(leaks, finding.next);
		th_array_append(measured, heaps, finding);
	}
}

static void *
measure(void *data)
{
	struct batch *batch = data;
	size_t left = batch->leaks->findings_count - batch->first;

	batch->count = left < BATCH ? left : BATCH;
	for (size_t i = 0; i < batch->count; i++)
		measure_finding(batch->leaks, &batch->leaks->findings[batch->first + i],
			&batch->findings[i]);
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
	for (size_t i = 0; i < BATCH; i++) {
		free(batches[0].findings[i].heaps);
		free(batches[1].findings[i].heaps);
	}
	free(batches);
}

static void
print_outcome(const struct printer *printer)
{
	char *text = th_json_dump(th_outcome_json(printer->leaks), JSON_EMBED);

	fprintf(printer->file, "%s", text);
	free(text);
}

/* What native code holds of the Java VM: counts, and the entries of the ledger that are findings. */
static void
print_vm(const struct printer *printer)
{
	char *counts = th_json_dump(
		th_ledger_parts_counts_json(&printer->leaks->references), 0);
	char *entries = th_json_dump(th_ledger_parts_json(&printer->leaks->ledger,
					     printer->leaks->ledger.findings_count),
		0);

	fprintf(printer->file, ",\n \"counts\": %s,\n \"ledger\": %s", counts, entries);
	free(counts);
	free(entries);
}

static void
print_tallies(struct printer *printer)
{
	const struct th_tallies *tallies = &printer->leaks->tallies;

	for (size_t i = 0; i < tallies->items_count; i++) {
		json_t *json = th_tallied_json(printer->leaks, &tallies->items[i]);

		th_json_set_part(json, printer->leaks,
			th_causes_number_of_tallied(printer->leaks, &tallies->items[i]));
		json_object_set_new(json, "holders",
			th_holder_parts_tallied_json(&printer->held, &tallies->items[i]));
		char *text = th_json_dump(json, 0);

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
	char *judged = th_json_dump(th_json_moment(leaks->profile), 0);

	fprintf(file,
		"{\"twinheap\": 1,\n \"recorded\": %s,\n \"filters\": %s,\n \"judged\": %s,\n ",
		recorded, filters, judged);
	free(judged);
	print_outcome(&printer);
	print_vm(&printer);
	fputs(",\n \"findings\": [", file);
	free(recorded);
	free(filters);
	th_frame_texts_init(&printer.frames, leaks->profile->frames);
	th_held_samples_init(&printer.held, leaks);
	print_tallies(&printer);
	print_findings(&printer);
	th_held_samples_deinit(&printer.held);
	th_frame_texts_deinit(&printer.frames);
	fputs("]}\n", file);
}
