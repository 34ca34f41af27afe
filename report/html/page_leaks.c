/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of `leaks` for the page.  They refer to functions by the page's numbers, so they
 * are printed after the names are numbered; a worker computes them in the meantime.
 */
#include "report/html/page_leaks.h"

#include <stdlib.h>

#include "report/html/page_columns.h"
#include "report/leaks/released.h"
#include "report/views/json_parts.h"
#include "report/views/tallied_parts.h"

/* Maximum number of findings, worst first; each carries its stack. */
#define FINDINGS_MAX 200

/* The stack of the allocation as function numbers of the page; empty for VM-internal memory. */
static json_t *
path_json(const struct th_page_names *names, const struct th_leaks *leaks,
	const struct th_leak_site *place)
{
	struct th_path path = th_leaks_path(leaks, place);
	json_t *list = json_array();

	for (uint32_t i = 0; i < path.count && !place->internal; i++) {
		uint32_t function =
			th_frames_get(names->profile->frames, path.frames[i])->function;

		json_array_append_new(
			list, json_integer(th_page_names_function(names, function)));
	}
	return list;
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
finding_json(const struct th_page_names *names, const struct th_leaks *leaks,
	const struct th_finding *finding)
{
	const struct th_evidence *evidence = &finding->evidence;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	char *why = th_evidence_explain(evidence);
	json_t *json = json_pack("{s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:s}", "verdict",
		th_verdict_name(evidence->verdict), "heap", (int)place->heap - TH_HEAP_JAVA,
		"class", th_frames_string(names->profile->frames, place->class_name), "place",
		place_json(names, leaks, finding), "path", path_json(names, leaks, place),
		"live", th_json_estimate(&evidence->live_bytes), "growth",
		th_json_estimate(&evidence->growth), "why", why);

	free(why);
	char *released = th_released_text(leaks->profile, evidence);
	if (released)
		json_object_set_new(json, "released", json_string(released));
	free(released);
	return json;
}

static const char *
kind_of(const struct th_tallied *tallied)
{
	if (tallied->kind == TH_TALLY_THREADS)
		return "threads";
	return tallied->class_name ? "class loaders" : "hidden classes";
}

/* Threads and class loaders; their makers need not have samples, so there is no path to show. */
static json_t *
tallied_json(const struct th_page_names *names, const struct th_tallied *tallied)
{
	const struct th_profile *profile = names->profile;
	struct th_estimate growth = {.estimate = th_tallied_growth(tallied)};
	char *why = th_tallied_explain(tallied);
	json_t *live = th_tallied_bytes_json(tallied);

	growth.low = growth.high = growth.estimate;
	json_t *json = json_pack("{s:s, s:s, s:s, s:o, s:[], s:o, s:o, s:s}", "verdict",
		th_verdict_name(tallied->verdict), "kind", kind_of(tallied), "class",
		th_frames_string(profile->frames, tallied->class_name), "place",
		th_json_frame(profile->frames, tallied->line), "path", "live", live, "growth",
		th_json_estimate(&growth), "why", why);
	free(why);
	return json;
}

static void *
find(void *data)
{
	th_leaks_find(data);
	return NULL;
}

void
th_page_leaks_begin(struct th_page_leaks *leaks, const struct th_profile *profile)
{
	*leaks = (struct th_page_leaks){0};
	th_leaks_prepare(&leaks->leaks, profile);
	if (profile->options->group_by)
		th_leaks_find(&leaks->leaks);
	else
		th_worker_begin(&leaks->aside, find, &leaks->leaks);
}

void
th_page_leaks_wait(struct th_page_leaks *leaks)
{
	th_worker_end(&leaks->aside);
}

void
th_page_leaks_print(
	FILE *file, const struct th_page_names *names, const struct th_page_leaks *found)
{
	const struct th_leaks *leaks = &found->leaks;

	fputs(",\n\"leaks\":", file);
	size_t shown = leaks->findings_count < FINDINGS_MAX ? leaks->findings_count
							    : FINDINGS_MAX;
	const struct th_tallies *tallies = &leaks->tallies;
	fputc('[', file);
	for (size_t i = 0; i < tallies->items_count; i++) {
		fputs(i ? ",\n" : "\n", file);
		th_page_print_json(file, tallied_json(names, &tallies->items[i]));
	}
	for (size_t i = 0; i < shown; i++) {
		fputs(i || tallies->items_count ? ",\n" : "\n", file);
		struct th_finding finding = th_leaks_measured(leaks, &leaks->findings[i]);
		th_page_print_json(file, finding_json(names, leaks, &finding));
	}
	fprintf(file, "],\n\"leaks_left_out\":%zu", leaks->findings_count - shown);
}

void
th_page_leaks_end(struct th_page_leaks *leaks)
{
	th_leaks_deinit(&leaks->leaks);
}
