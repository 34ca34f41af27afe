/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holders, as text and as JSON: what holds the Java objects of each finding, or of a class, as the
 * last walk of the heap found it.
 */
#include "report/views/view.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/views/holder_parts.h"
#include "report/views/json_parts.h"
#include "report/views/tallied_parts.h"

static void
print_walk(FILE *file, const struct th_held_samples *held)
{
	const struct th_decoded_holder_walk *walk = held->walk;

	fprintf(file,
		"walk of the Java heap at %s s: %s in use, the VM was stopped for %s\n"
		"%s of %s %ssampled objects have a path from a root\n",
		th_format_time(th_profile_seconds(held->leaks->profile, walk->time)).text,
		th_format_number((double)walk->heap, TH_UNIT_BYTES).text,
		th_format_pause((double)walk->paused / 1e9).text,
		th_format_count(walk->found).text, th_format_count(walk->wanted).text,
		held->selected_count ? "selected " : "");
}

/* Whether a finding is asked for. */
static bool
is_shown(const struct th_leaks *leaks, size_t index)
{
	uint64_t finding = leaks->profile->options->finding;

	return !finding || finding == index + 1;
}

/* A finding with holders. */
struct shown {
	const struct th_held_samples *held;
	size_t index;
	const struct th_finding *finding;
	const struct th_holders *holders;
};

static void
print_finding(void *data, const struct shown *shown)
{
	const struct th_leaks *leaks = shown->held->leaks;
	FILE *file = data;

	fprintf(file, "\n%zu. ", shown->index + 1);
	th_view_verdict(file, leaks->findings[shown->index].verdict,
		leaks->findings[shown->index].reason);
	th_view_finding_title(file, leaks, shown->finding);
	fputc('\n', file);
	th_holder_parts_print(file, shown->held, shown->holders, leaks->profile->options->top);
}

/* Calls `show` with the findings that have holders, at most --top of them. */
typedef void show_finding(void *data, const struct shown *shown);

static void
each_finding(const struct th_held_samples *held, show_finding *show, void *data, uint64_t top)
{
	const struct th_leaks *leaks = held->leaks;
	uint64_t count = 0;

	for (size_t i = 0; i < leaks->findings_count && count < top; i++) {
		struct th_holders holders;

		if (!is_shown(leaks, i))
			continue;
		struct th_finding finding = th_leaks_measured(leaks, &leaks->findings[i]);
		const struct shown shown = {held, i, &finding, &holders};
		th_holders_of_finding(held, &leaks->findings[i], &finding, &holders);
		if (holders.items_count) {
			show(data, &shown);
			count++;
		}
		th_holders_deinit(&holders);
	}
}

/* Calls `show` with the leaks of class loaders that have holders. */
typedef void show_tallied(void *data, const struct th_held_samples *held,
	const struct th_tallied *tallied, const struct th_holders *holders);

static void
each_tallied(const struct th_held_samples *held, show_tallied *show, void *data)
{
	const struct th_tallies *tallies = &held->leaks->tallies;

	for (size_t i = 0; i < tallies->items_count && !held->leaks->profile->options->finding;
		i++) {
		struct th_holders holders;

		th_holders_of_tallied(held, &tallies->items[i], &holders);
		if (holders.items_count)
			show(data, held, &tallies->items[i], &holders);
		th_holders_deinit(&holders);
	}
}

static void
print_tallied(void *data, const struct th_held_samples *held, const struct th_tallied *tallied,
	const struct th_holders *holders)
{
	FILE *file = data;

	fputc('\n', file);
	th_view_verdict(file, tallied->verdict, th_tallied_reason(tallied));
	th_tallied_print_headline(file, held->leaks, tallied, " ");
	th_holder_parts_print(file, held, holders, held->leaks->profile->options->top);
}

static struct th_holders_of
class_of(const struct th_leaks *leaks)
{
	return (struct th_holders_of){
		.class_name = th_frames_find_string(
			leaks->profile->frames, leaks->profile->options->held_class)};
}

static bool
find_class(const struct th_held_samples *held, struct th_holders *holders)
{
	struct th_holders_of of = class_of(held->leaks);

	memset(holders, 0, sizeof(*holders));
	if (of.class_name == TH_NO_STRING || !of.class_name)
		return false;
	th_holders_find(held, &of, holders);
	return holders->items_count > 0;
}

void
th_view_holders(FILE *file, const struct th_leaks *leaks)
{
	const struct th_options *options = leaks->profile->options;
	struct th_held_samples held;
	struct th_holders holders;

	th_held_samples_init(&held, leaks);
	print_walk(file, &held);
	if (!options->held_class) {
		each_tallied(&held, print_tallied, file);
		each_finding(&held, print_finding, file, options->top);
	} else {
		bool is_found = find_class(&held, &holders);

		fprintf(file, "\n%s%s\n", options->held_class,
			is_found ? "" : ": no sampled object of this class has a path");
		th_holder_parts_print(file, &held, &holders, options->top);
		th_holders_deinit(&holders);
	}
	th_held_samples_deinit(&held);
}

/* JSON */

static void
add_finding(void *data, const struct shown *shown)
{
	const struct th_leaks *leaks = shown->held->leaks;
	const struct th_leak_site *place = &leaks->places.items[shown->finding->place];
	struct th_path path = th_leaks_path(leaks, place);
	json_t *frames = json_array();

	for (uint32_t i = 0; i < path.count; i++)
		json_array_append_new(
			frames, th_json_frame(leaks->profile->frames, path.frames[i]));
	json_array_append_new(data,
		json_pack("{s:I, s:s, s:I, s:s, s:o, s:o, s:o}", "finding",
			(json_int_t)shown->index + 1, "verdict",
			th_verdict_name(leaks->findings[shown->index].verdict), "lines",
			(json_int_t)(shown->finding->lines ? shown->finding->lines : 1), "heap",
			th_heap_word(place->heap), "class",
			th_json_text_or_null(
				th_frames_string(leaks->profile->frames, place->class_name)),
			"frames", frames, "holders",
			th_holder_parts_json(shown->held, shown->holders)));
}

static void
add_tallied(void *data, const struct th_held_samples *held, const struct th_tallied *tallied,
	const struct th_holders *holders)
{
	json_t *finding = th_tallied_json(held->leaks, tallied);

	json_array_append_new(data, json_pack("{s:n, s:O, s:n, s:O, s:O, s:O, s:o}", "finding",
					    "verdict", json_object_get(finding, "verdict"),
					    "lines", "heap", json_object_get(finding, "heap"),
					    "class", json_object_get(finding, "class"),
					    "frames", json_object_get(finding, "frames"),
					    "holders", th_holder_parts_json(held, holders)));
	json_decref(finding);
}

static void
add_class(const struct th_held_samples *held, json_t *list)
{
	struct th_holders holders;

	if (find_class(held, &holders))
		json_array_append_new(list,
			json_pack("{s:n, s:n, s:n, s:s, s:s, s:[], s:o}", "finding", "verdict",
				"lines", "heap", th_heap_word(TH_HEAP_JAVA), "class",
				held->leaks->profile->options->held_class, "frames", "holders",
				th_holder_parts_json(held, &holders)));
	th_holders_deinit(&holders);
}

static json_t *
walk_json(const struct th_held_samples *held)
{
	const struct th_decoded_holder_walk *walk = held->walk;

	return json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "time_s",
		th_profile_seconds(held->leaks->profile, walk->time), "paused_s",
		(double)walk->paused / 1e9, "expected_pause_s", (double)walk->expected / 1e9,
		"cpu_s", (double)walk->cpu / 1e9, "heap_bytes", (json_int_t)walk->heap,
		"objects", (json_int_t)walk->objects, "references",
		(json_int_t)walk->references, "memory_bytes", (json_int_t)walk->memory,
		"samples", (json_int_t)walk->wanted, "samples_with_path",
		(json_int_t)walk->found, "is_limited", held->selected_count != 0);
}

void
th_view_holders_json(FILE *file, const struct th_leaks *leaks)
{
	struct th_held_samples held;
	json_t *list = json_array();

	th_held_samples_init(&held, leaks);
	if (leaks->profile->options->held_class) {
		add_class(&held, list);
	} else {
		each_tallied(&held, add_tallied, list);
		each_finding(&held, add_finding, list, UINT64_MAX);
	}
	char *text = th_json_dump(json_pack("{s:i, s:o, s:o}", "twinheap", 1, "walk",
					  walk_json(&held), "findings", list),
		JSON_INDENT(1));
	fprintf(file, "%s\n", text);
	free(text);
	th_held_samples_deinit(&held);
}
