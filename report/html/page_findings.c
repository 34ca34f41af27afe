/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of `leaks` for the page.  They refer to frames by the page's numbers, so they
 * are printed after the names are numbered.
 */
#include "report/html/page_findings.h"

#include <stdlib.h>

#include "report/leaks/released.h"
#include "report/views/holder_parts.h"
#include "report/views/json_parts.h"
#include "report/views/tallied_parts.h"

/* Parts */

/* The numbers of a path's frames, root first. */
static json_t *
path_json(const struct th_page_names *names, struct th_path path)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.count; i++) {
		uint32_t frame = th_page_names_frame(names, path.frames[i]);

		if (frame != UINT32_MAX)
			json_array_append_new(list, json_integer(frame));
	}
	return list;
}

/* Empty for VM-internal memory. */
static json_t *
stack_json(const struct th_page_names *names, const struct th_leaks *leaks,
	const struct th_leak_site *place)
{
	if (place->internal)
		return json_array();
	return path_json(names, th_leaks_path(leaks, place));
}

/* A name that is no function's. */
static json_t *
name_json(struct th_frames *frames, const char *name)
{
	return th_json_function(
		frames, th_frames_special_function(frames, name, "", TH_KIND_GROUP), "", 0);
}

/*
 * What the finding is about: a method above many lines, a class, a library; else the application
 * line, or the allocating function.
 */
static json_t *
place_json(const struct th_page_names *names, const struct th_leaks *leaks,
	const struct th_finding *finding)
{
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	struct th_frames *frames = names->profile->frames;
	struct th_path path = th_paths_get(names->profile->paths, place->path);

	if (place->internal)
		return name_json(frames, place->internal);
	if (finding->level == TH_LEVEL_PATH)
		return th_json_frame(
			frames, path.frames[leaks->places.ways.items[finding->key].length - 1]);
	if (finding->level != TH_LEVEL_LINE)
		return name_json(frames, th_frames_string(frames, finding->key));
	return th_json_frame(
		frames, place->creator ? th_leak_sites_creator_frame(&leaks->places, place)
				       : path.frames[path.count - 1]);
}

static json_t *
owner_json(const struct th_leaks *leaks, const struct th_owner *owner)
{
	if (owner->place == TH_NO_PLACE)
		return json_null();
	const struct th_leak_site *place = &leaks->places.items[owner->place];
	return json_pack("{s:s, s:I, s:I, s:b}", "class",
		th_frames_string(leaks->profile->frames, place->class_name), "samples",
		(json_int_t)owner->samples, "collected", (json_int_t)owner->collected,
		"is_collected", owner->is_collected);
}

/* The other heaps of a finding. */
static json_t *
others_json(const struct th_leaks *leaks, const struct th_finding *first)
{
	json_t *list = json_array();

	for (uint32_t next = first->next; next != UINT32_MAX;) {
		struct th_finding finding = th_leaks_next(leaks, next);
		const struct th_evidence *evidence = &finding.evidence;

		json_array_append_new(
			list, json_pack("{s:i, s:s, s:o, s:o}", "heap",
				      (int)evidence->heap - TH_HEAP_JAVA, "verdict",
				      th_verdict_name(evidence->verdict), "live",
				      th_json_estimate(&evidence->live_bytes), "growth",
				      th_json_estimate(&evidence->growth)));
		next = finding.next;
	}
	return list;
}

/* Findings of samples */

static void
set_texts(json_t *json, const struct th_leaks *leaks, const struct th_evidence *evidence)
{
	char *why = th_evidence_explain(evidence);
	char *released = th_released_text(leaks->profile, evidence);

	json_object_set_new(json, "why", json_string(why));
	if (released)
		json_object_set_new(json, "released", json_string(released));
	free(released);
	free(why);
}

json_t *
th_page_finding_json(const struct th_page_names *names, const struct th_held_samples *held,
	const struct th_listed *listed)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_finding finding = th_leaks_measured(leaks, listed);
	const struct th_evidence *evidence = &finding.evidence;
	const struct th_leak_site *place = &leaks->places.items[finding.place];
	json_t *json = json_pack("{s:s, s:i, s:s, s:o, s:o}", "verdict",
		th_verdict_name(evidence->verdict), "heap", (int)place->heap - TH_HEAP_JAVA,
		"class", th_frames_string(names->profile->frames, place->class_name), "place",
		place_json(names, leaks, &finding), "path", stack_json(names, leaks, place));
	json_t *figures = json_pack("{s:o, s:o, s:o, s:f, s:I, s:I, s:o, s:o, s:o}", "live",
		th_json_estimate(&evidence->live_bytes), "objects",
		th_json_estimate(&evidence->live_objects), "growth",
		th_json_estimate(&evidence->growth), "age", evidence->median_age, "survived",
		(json_int_t)evidence->collections, "lines", (json_int_t)finding.lines, "owner",
		owner_json(leaks, &finding.owner), "others", others_json(leaks, &finding),
		"held", th_holder_parts_texts_json(held, listed, &finding));

	json_object_update(json, figures);
	json_decref(figures);
	json_object_set_new(json, "name",
		json_string(th_verdict_name_by(evidence->verdict, evidence->reason)));
	th_json_set_part(json, leaks, th_causes_number_of(leaks, listed));
	set_texts(json, leaks, evidence);
	return json;
}

/* Threads and class loaders */

static const char *
kind_of(const struct th_tallied *tallied)
{
	if (tallied->kind == TH_TALLY_THREADS)
		return "threads";
	return tallied->class_name ? "class loaders" : "hidden classes";
}

/* Number alive at the end, made before the end of each part of the window. */
static json_t *
curve_json(const struct th_tallied *tallied)
{
	json_t *list = json_array();
	double sum = 0;

	json_array_append_new(list, json_real(0));
	for (int i = 0; i < TH_TALLIED_PARTS; i++) {
		sum += tallied->made_in[i];
		json_array_append_new(list, json_real(sum));
	}
	return list;
}

struct th_path
th_page_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const struct th_leak_site site = {
		.heap = tallied->kind == TH_TALLY_THREADS ? TH_HEAP_NATIVE : TH_HEAP_JAVA,
		.class_name = tallied->class_name,
		.path = tallied->path,
		.thread = th_frames_special_function(
			leaks->profile->frames, "", "", TH_KIND_GROUP),
	};

	return th_leaks_path(leaks, &site);
}

json_t *
th_page_tallied_json(const struct th_page_names *names, const struct th_held_samples *held,
	const struct th_tallied *tallied)
{
	const struct th_leaks *leaks = held->leaks;
	const struct th_profile *profile = names->profile;
	struct th_estimate growth = {.estimate = th_tallied_growth(tallied)};
	char *why = th_tallied_explain(tallied);

	growth.low = growth.high = growth.estimate;
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:f, s:f, s:b, s:o, s:o}", "verdict",
		th_verdict_name_by(tallied->verdict, th_tallied_reason(tallied)), "kind",
		kind_of(tallied), "class",
		th_frames_string(profile->frames, tallied->class_name), "place",
		th_json_frame(profile->frames, tallied->line), "path",
		path_json(names, th_page_tallied_path(leaks, tallied)), "live",
		th_tallied_bytes_json(tallied), "growth", th_json_estimate(&growth), "why", why,
		"alive", tallied->alive, "rate", th_tallied_rate(tallied), "is_counted",
		!tallied->level, "curve", curve_json(tallied), "held",
		th_holder_parts_tallied_texts_json(held, tallied));
	th_json_set_part(json, leaks, th_causes_number_of_tallied(leaks, tallied));
	free(why);
	return json;
}
