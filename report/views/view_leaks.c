/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks, as text: findings by verdict, worst first.  Each has the application line, its figures,
 * the reason for the verdict and, for a leak, the stack of the allocation.
 */
#include "report/views/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/heap_names.h"
#include "report/base/terminal.h"
#include "report/views/tallied_parts.h"

/* Column at which the text after a label begins. */
#define TEXT_COLUMN 16
/* Stack lines printed, from the allocation towards the root. */
#define STEPS_SHOWN 12

/* Frames */

static void
print_frame(FILE *file, const struct th_frames *frames, uint32_t number)
{
	const struct th_frame *frame = th_frames_get(frames, number);
	const char *library = th_frames_library(frames, frame->function);

	fputs(th_frames_function_name(frames, frame->function), file);
	if (frame->file && frame->line)
		fprintf(file, " (%s:%u)", th_frames_string(frames, frame->file), frame->line);
	else if (library[0] && !th_frames_is_nameless(frames, frame->function))
		fprintf(file, " (%s)", library);
}

/* The nearest application line; without one, the allocating function. */
static void
print_place(FILE *file, const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	if (place->internal) {
		fputs(place->internal, file);
		return;
	}
	if (place->class_name)
		fprintf(file, "%s in ", th_frames_string(frames, place->class_name));
	if (!place->creator) {
		print_frame(file, frames, path.frames[path.count - 1]);
		return;
	}
	print_frame(file, frames, th_leak_sites_creator_frame(&leaks->places, place));
	uint32_t user = th_leak_sites_user_frame(&leaks->places, place);
	if (user == TH_NO_FRAME)
		return;
	fputs(", called from ", file);
	print_frame(file, frames, user);
}

/* The frame at a depth, counted from the allocation. */
static uint32_t
frame_at(struct th_path path, uint32_t depth)
{
	return path.frames[path.count - 1 - depth];
}

/* Number of consecutive frames without names in one library, starting at `depth`. */
static uint32_t
count_nameless(const struct th_frames *frames, struct th_path path, uint32_t depth)
{
	const char *library = NULL;
	uint32_t count = 0;

	for (; depth + count < path.count; count++) {
		uint32_t function =
			th_frames_get(frames, frame_at(path, depth + count))->function;

		if (!th_frames_is_nameless(frames, function) ||
			(library && strcmp(library, th_frames_library(frames, function)) != 0))
			break;
		library = th_frames_library(frames, function);
	}
	return count;
}

/* Prints one line of the stack; returns the number of frames it covers. */
static uint32_t
print_step(FILE *file, const struct th_frames *frames, struct th_path path, uint32_t depth)
{
	uint32_t nameless = count_nameless(frames, path, depth);

	fputs(depth ? "              < " : "         by     ", file);
	print_frame(file, frames, frame_at(path, depth));
	if (nameless > 1)
		fprintf(file, " and %u more without names", nameless - 1);
	fputc('\n', file);
	return nameless ? nameless : 1;
}

/*
 * Depth of the nearest application line, or of the creator if there is none.  Without Java
 * frames there is neither; the result is then the length of the path.
 */
static uint32_t
depth_of_application(
	const struct th_leaks *leaks, const struct th_leak_site *place, struct th_path path)
{
	uint32_t application = TH_NO_FRAME;
	uint32_t depth = 0;

	if (place->creator) {
		application = th_leak_sites_user_frame(&leaks->places, place);
		if (application == TH_NO_FRAME)
			application = th_leak_sites_creator_frame(&leaks->places, place);
	}
	while (depth < path.count && frame_at(path, depth) != application)
		depth++;
	return depth;
}

/* From the allocation towards the root; the application line is always printed. */
static void
print_stack(FILE *file, const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_leaks_path(leaks, place);
	uint32_t application = depth_of_application(leaks, place, path);
	uint32_t depth = 0;

	if (place->internal)
		return;
	for (int steps = 0; steps < STEPS_SHOWN && depth < path.count; steps++)
		depth += print_step(file, frames, path, depth);
	if (application < path.count && application >= depth) {
		if (application > depth)
			fprintf(file, "              < %u more\n", application - depth);
		depth = application + print_step(file, frames, path, application);
	}
	if (depth < path.count)
		fprintf(file, "              < %u more\n", path.count - depth);
}

/* Findings */

static void
print_figures(FILE *file, const struct th_evidence *evidence)
{
	fprintf(file, "%s (%s) %s",
		th_format_number(evidence->live_bytes.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&evidence->live_bytes, TH_UNIT_BYTES).text,
		evidence->is_resident ? "in memory of " : "live");
	if (evidence->is_resident)
		fprintf(file, "%s mapped",
			th_format_number(evidence->live, TH_UNIT_BYTES).text);
	if (!evidence->alive)
		return;
	fprintf(file, ", median age %s", th_format_seconds(evidence->median_age).text);
	if (evidence->collections)
		fprintf(file, ", %u GC%s survived", evidence->collections,
			evidence->collections == 1 ? "" : "s");
}

static void
print_owner(FILE *file, const struct th_leaks *leaks, const struct th_owner *owner)
{
	const struct th_frames *frames = leaks->profile->frames;

	if (owner->place == TH_NO_PLACE)
		return;
	const struct th_leak_site *place = &leaks->places.items[owner->place];
	fprintf(file, "         owner  %s, %" PRIu64 " of %" PRIu64 " samples collected: %s\n",
		th_frames_string(frames, place->class_name), owner->collected, owner->samples,
		owner->is_collected ? "owners collected, native memory alive"
		: !owner->collected ? "the owners are alive"
				    : "owners of live blocks may also be dead");
}

static void
print_finding(FILE *file, const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	enum th_verdict verdict = finding->evidence.verdict;
	char *why = th_evidence_explain(&finding->evidence);

	fprintf(file, "%-8s %s, ", th_verdict_name(verdict), th_heap_adjective(place->heap));
	if (leaks->profile->options->group_by)
		fprintf(file, "%s: ",
			th_frames_function_name(
				leaks->profile->frames, th_leaks_group(leaks, place)));
	print_place(file, leaks, place);
	if (finding->place_count > 1 && !place->internal)
		fprintf(file, " and %u more stacks or classes", finding->place_count - 1);
	fputs("\n         ", file);
	print_figures(file, &finding->evidence);
	fputs("\n         why    ", file);
	th_format_wrap(file, why, TEXT_COLUMN, th_terminal_columns(file));
	fputc('\n', file);
	print_owner(file, leaks, &finding->owner);
	if (verdict == TH_VERDICT_LEAK)
		print_stack(file, leaks, place);
	free(why);
}

static size_t
count_verdict(const struct th_leaks *leaks, enum th_verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < leaks->findings_count; i++)
		count += leaks->findings[i].verdict == verdict;
	return count;
}

static void
print_verdict(FILE *file, const struct th_leaks *leaks, enum th_verdict verdict)
{
	size_t count = count_verdict(leaks, verdict);
	uint64_t shown = 0;

	for (size_t i = 0; i < leaks->findings_count && shown < leaks->profile->options->top;
		i++) {
		if (leaks->findings[i].verdict != verdict)
			continue;
		fputc('\n', file);
		struct th_finding finding = th_leaks_measured(leaks, &leaks->findings[i]);
		print_finding(file, leaks, &finding);
		shown++;
	}
	if (shown < count)
		fprintf(file, "\nand %s more with verdict %s\n",
			th_format_count(count - shown).text, th_verdict_name(verdict));
}

static void
print_tallies(FILE *file, const struct th_leaks *leaks, enum th_verdict verdict)
{
	for (size_t i = 0; i < leaks->tallies.items_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (tallied->verdict != verdict)
			continue;
		fputc('\n', file);
		th_tallied_print(file, leaks, tallied, print_stack);
	}
}

/* The head */

static void
print_window(FILE *file, const struct th_leaks *leaks, enum th_heap heap)
{
	const struct th_observation_window *horizon = &leaks->horizons[heap];

	if (!th_profile_has_heap(leaks->profile, heap))
		return;
	if (heap == TH_HEAP_JAVA && horizon->horizon <= horizon->start) {
		fputs("Java heap: no GC so far, reachability is unknown\n", file);
		return;
	}
	fprintf(file, "%s: analyzed through %.4g s%s; ", th_heap_title(heap),
		th_profile_seconds(leaks->profile, horizon->horizon),
		heap != TH_HEAP_JAVA ? ""
		: horizon->is_proven ? ", the last old-generation GC"
				     : ", the last GC, no recent old-generation GC");
	if (horizon->horizon <= horizon->middle)
		fputs("too short to detect leaks\n", file);
	else if (heap == TH_HEAP_JAVA && leaks->profile->lifetimes.followed)
		fputs("few objects are tracked with this collector; a leak may show only "
		      "after several major GCs\n",
			file);
	else if (leaks->growth_limit[heap] > 0)
		fprintf(file, "detection limit: %s/s\n",
			th_format_number(leaks->growth_limit[heap], TH_UNIT_BYTES).text);
	else
		fputs("every allocation was recorded\n", file);
}

static void
print_outcome(FILE *file, const struct th_leaks *leaks)
{
	size_t count = count_verdict(leaks, TH_VERDICT_LEAK) + leaks->tallies.leaks_count;
	const struct th_observation_window *horizon = &leaks->horizons[TH_HEAP_NATIVE];
	double duration = (double)(horizon->end - horizon->start) / 1e9;

	th_view_filters(file, leaks->profile->options);
	if (count)
		fprintf(file, "%s %s, at least %s, in %s\n", th_format_count(count).text,
			count == 1 ? "leak" : "leaks",
			th_format_number(th_leaks_bytes(leaks), TH_UNIT_BYTES).text,
			th_format_seconds(duration).text);
	else
		fprintf(file, "no leak found in %s\n", th_format_seconds(duration).text);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		print_window(file, leaks, (enum th_heap)heap);
}

void
th_view_leaks(FILE *file, const struct th_leaks *leaks)
{
	print_outcome(file, leaks);
	for (int verdict = TH_VERDICT_LEAK; verdict <= TH_VERDICT_CHURN; verdict++) {
		print_tallies(file, leaks, (enum th_verdict)verdict);
		print_verdict(file, leaks, (enum th_verdict)verdict);
	}
}
