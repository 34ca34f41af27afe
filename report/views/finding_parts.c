/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/finding_parts.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/terminal.h"
#include "report/leaks/causes.h"
#include "report/profile/sites.h"
#include "report/views/json_parts.h"
#include "report/views/values.h"
#include "report/views/view.h"

static bool
is_threads(const struct th_tallied *tallied)
{
	return tallied->kind == TH_TALLY_THREADS;
}

struct th_leak_site
th_tallied_site(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const struct th_profile *profile = leaks->profile;
	const struct th_frame *line = th_frames_get(profile->frames, tallied->line);

	return (struct th_leak_site){
		.heap = is_threads(tallied) ? TH_HEAP_NATIVE : TH_HEAP_JAVA,
		.class_name = tallied->class_name,
		.creator = th_sites_is_application(profile->frames, line->function),
		.path = tallied->path,
		.thread = th_frames_special_function(profile->frames, "", "", TH_KIND_GROUP),
	};
}

/* Titles */

/* The nearest application line; without one, the allocating function. */
static void
print_site_line(
	FILE *file, const struct th_leak_sites *places, const struct th_leak_site *place)
{
	const struct th_frames *frames = places->profile->frames;
	struct th_path path = th_paths_get(places->profile->paths, place->path);
	uint32_t creator = path.frames[path.count - 1];
	uint32_t user = TH_NO_FRAME;

	if (place->creator) {
		creator = th_leak_sites_creator_frame(places, place);
		user = th_leak_sites_user_frame(places, place);
	}
	th_print(file, "{}", th_frame_of(frames, creator));
	if (user != TH_NO_FRAME)
		th_print(file, ", called from {}", th_frame_of(frames, user));
}

void
th_view_leaks_line(
	FILE *file, const struct th_leak_sites *places, const struct th_leak_site *place)
{
	if (place->internal)
		fputs(place->internal, file);
	else
		print_site_line(file, places, place);
}

void
th_view_site_title(FILE *file, const struct th_leaks *leaks, const struct th_leak_site *place)
{
	if (place->class_name && !place->internal)
		th_print(file, "{} in ",
			th_frames_string(leaks->profile->frames, place->class_name));
	th_view_leaks_line(file, &leaks->places, place);
}

/* A line, or a method above many lines. */
void
th_view_finding_title(
	FILE *file, const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_frames *frames = leaks->profile->frames;
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	if (finding->level == TH_LEVEL_LINE)
		th_view_site_title(file, leaks, place);
	else
		th_print(file, "{}, in { line} below it",
			th_frame_of(frames,
				path.frames[leaks->places.ways.items[finding->key].length - 1]),
			finding->lines);
}

void
th_view_verdict(FILE *file, enum th_verdict verdict, enum th_reason reason)
{
	static const enum th_style styles[] = {
		[TH_VERDICT_LEAK] = TH_STYLE_WARNING,
		[TH_VERDICT_UNCLEAR] = TH_STYLE_DOUBT,
		[TH_VERDICT_PLATEAU] = TH_STYLE_GOOD,
		[TH_VERDICT_CHURN] = TH_STYLE_VM,
	};

	th_print(file, "{#}{-8}{/} ", styles[verdict], th_verdict_name_by(verdict, reason));
}

/* Threads and class loaders, as text */

/* "1,200", or "about 4,800" if not all were counted. */
static void
print_count(FILE *file, const struct th_tallied *tallied)
{
	th_print(file, "{}{c}", tallied->level ? "about " : "", tallied->alive + 0.5);
}

static void
print_threads(FILE *file, const struct th_tallied *tallied)
{
	print_count(file, tallied);
	th_print(file, " alive, {g}/s, {b} of stacks", th_tallied_rate(tallied),
		tallied->resident);
}

static void
print_loaders(FILE *file, const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	double each = tallied->alive > 0 ? tallied->resident / tallied->alive : 0;

	fputs("by ", file);
	print_count(file, tallied);
	if (tallied->class_name)
		th_print(file, " loaders of {}, ",
			th_frames_string(leaks->profile->frames, tallied->class_name));
	else
		fputs(" hidden classes, ", file);
	th_print(file, "{g}/s: metaspace {b}, {b}/s", th_tallied_rate(tallied),
		tallied->resident, each * th_tallied_rate(tallied));
}

static void
print_line(FILE *file, const struct th_frames *frames, const char *before, uint32_t number)
{
	if (number == TH_NO_FRAME)
		return;
	char *text = th_view_line_text(frames, number);
	th_print(file, "{}{}", before, text);
	free(text);
}

void
th_tallied_print_headline(FILE *file, const struct th_leaks *leaks,
	const struct th_tallied *tallied, const char *between)
{
	const struct th_frames *frames = leaks->profile->frames;
	const char *made = is_threads(tallied) ? "threads started at " : "classes defined at ";
	uint32_t starter = th_causes_starter(
		leaks, th_causes_number_of_tallied(leaks, tallied));

	print_line(file, frames, made, starter);
	print_line(file, frames, starter == TH_NO_FRAME ? made : ", through ", tallied->line);
	print_line(file, frames, ", called from ", tallied->user);
	fputs(between, file);
	if (is_threads(tallied))
		print_threads(file, tallied);
	else
		print_loaders(file, leaks, tallied);
	if (tallied->vm.samples)
		th_print(file, " and {b} of the VM", tallied->vm.estimate);
	fputc('\n', file);
}

void
th_tallied_print_causes(FILE *file, const struct th_leaks *leaks)
{
	for (size_t i = 0; leaks && i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (th_causes_is_part(leaks, (uint32_t)i))
			continue;
		fputs("  leak: ", file);
		th_tallied_print_headline(
			file, leaks, tallied, is_threads(tallied) ? ": " : " ");
	}
}

/* JSON */

/* Of the line, or of the one that started the threads on which it is. */
static json_t *
user_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	uint32_t frame = tallied->user;

	if (frame == TH_NO_FRAME)
		frame = th_causes_starter(leaks, th_causes_number_of_tallied(leaks, tallied));
	return th_json_frame(leaks->profile->frames, frame);
}

/*
 * Resident bytes and those of the C heap.  The metaspace is an estimate of unknown error, resident
 * bytes of stacks are exact.
 */
static json_t *
bytes_json(const struct th_tallied *tallied)
{
	const struct th_estimate bytes = {
		.estimate = tallied->resident + tallied->vm.estimate,
		.low = tallied->resident + tallied->vm.low,
		.high = tallied->resident + tallied->vm.high,
		.samples = tallied->vm.samples,
	};

	return th_json_estimate(&bytes);
}

static json_t *
number_json(const struct th_tallied *tallied, double number)
{
	return th_json_estimate(&(struct th_estimate){
		.estimate = number, .low = number, .high = number, .exact = !tallied->level});
}

struct th_path
th_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	struct th_leak_site site = th_tallied_site(leaks, tallied);

	return th_leaks_path(leaks, &site);
}

json_t *
th_tallied_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const struct th_frames *frames = leaks->profile->frames;
	char *why = th_tallied_explain(tallied);
	json_t *none = NULL; /* what other findings have and a counted leak has not */
	json_t *json = th_json(
		"verdict heap class? frames creator user live_bytes live_objects "
		"growth_objects_per_s growth_bytes_per_s",
		th_verdict_name_by(tallied->verdict, th_tallied_reason(tallied)),
		th_tallied_heap(tallied), th_frames_string(frames, tallied->class_name),
		th_json_frames(frames, th_tallied_path(leaks, tallied)),
		th_json_frame(frames, tallied->line), user_json(leaks, tallied),
		bytes_json(tallied), number_json(tallied, tallied->alive),
		number_json(tallied, th_tallied_rate(tallied)),
		number_json(tallied, th_tallied_growth(tallied)));

	th_json_set(json,
		"survivors_per_allocation resident_bytes reserved_bytes vm_bytes "
		"stacks still_growing why thread owner median_age_s "
		"collections_survived",
		tallied->made > 0 ? tallied->alive / tallied->made : 0.0, tallied->resident,
		tallied->bytes, &tallied->vm, tallied->stacks, (bool)true, why, none, none,
		none, none);
	if (!is_threads(tallied))
		th_json_set(json, "live_classes", tallied->parts);
	free(why);
	return json;
}
