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
#include "report/views/values.h"

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
 * What the finding is about: a method above many lines, else the application line, or the allocating
 * function.
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
	return th_json_frame(
		frames, place->creator ? th_leak_sites_creator_frame(&leaks->places, place)
				       : path.frames[path.count - 1]);
}

static json_t *
owner_json(const struct th_leaks *leaks, const struct th_owner *owner)
{
	if (owner->place == TH_NO_PLACE)
		return NULL;
	return th_json("class samples collected is_collected",
		th_frames_string(
			leaks->profile->frames, leaks->places.items[owner->place].class_name),
		owner->samples, owner->collected, (bool)owner->is_collected);
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
			list, th_json("heap verdict live growth", evidence->heap - TH_HEAP_JAVA,
				      th_verdict_name(evidence->verdict), &evidence->live_bytes,
				      &evidence->growth));
		next = finding.next;
	}
	return list;
}

/* Findings of samples */

json_t *
th_page_finding_json(const struct th_page_names *names, const struct th_held_samples *held,
	const struct th_listed *listed)
{
	const struct th_leaks *leaks = held->leaks;
	struct th_finding finding = th_leaks_measured(leaks, listed);
	const struct th_evidence *evidence = &finding.evidence;
	const struct th_leak_site *place = &leaks->places.items[finding.place];
	char *why = th_evidence_explain(evidence);
	char *released = th_released_text(leaks->profile, evidence);
	json_t *json = th_json("verdict heap class place path live objects growth age survived "
			       "lines owner others held name",
		th_verdict_name(evidence->verdict), place->heap - TH_HEAP_JAVA,
		th_frames_string(names->profile->frames, place->class_name),
		place_json(names, leaks, &finding), stack_json(names, leaks, place),
		&evidence->live_bytes, &evidence->live_objects, &evidence->growth,
		evidence->median_age, evidence->collections, finding.lines,
		owner_json(leaks, &finding.owner), others_json(leaks, &finding),
		th_holder_parts_finding_json(held, listed, &finding, true),
		th_verdict_name_by(evidence->verdict, evidence->reason));

	th_json_set_part(json, leaks, th_causes_number_of(leaks, listed));
	th_json_set(json, "why", why);
	if (released)
		th_json_set(json, "released", released);
	free(released);
	free(why);
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

	th_json_append(list, sum);
	for (int i = 0; i < TH_TALLIED_PARTS; i++) {
		sum += tallied->made_in[i];
		th_json_append(list, sum);
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
	json_t *json = th_json("verdict kind class place path live growth why alive rate "
			       "is_counted curve held",
		th_verdict_name_by(tallied->verdict, th_tallied_reason(tallied)),
		kind_of(tallied), th_frames_string(profile->frames, tallied->class_name),
		th_frame_of(profile->frames, tallied->line),
		path_json(names, th_page_tallied_path(leaks, tallied)),
		th_tallied_bytes_json(tallied), &growth, why, tallied->alive,
		th_tallied_rate(tallied), (bool)!tallied->level, curve_json(tallied),
		th_holder_parts_tallied_json(held, tallied, true));
	th_json_set_part(json, leaks, th_causes_number_of_tallied(leaks, tallied));
	free(why);
	return json;
}
