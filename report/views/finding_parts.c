/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/parts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/terminal.h"
#include "report/profile/sites.h"
#include "report/views/view.h"

/* Column at which the lines begin. */
#define COLUMN 16
#define LINES_MAX 12

/* Items of the program that are wanted, among the first ones or beside them. */
#define PROGRAM_MAX 8

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
		.creator = th_frames_function(profile->frames, line->function)->is_application,
		.path = tallied->path,
		.thread = th_frames_group(profile->frames, ""),
	};
}

/* Titles */

const char *
th_view_leaks_line(const struct th_leak_sites *places, const struct th_leak_site *place)
{
	const struct th_frames *frames = places->profile->frames;
	struct th_path path = th_paths_get(places->profile->paths, place->path);

	if (place->internal)
		return place->internal;
	if (!place->creator)
		return th_printed("{}", th_frame_of(frames, path.frames[path.count - 1]));
	uint32_t creator = th_leak_sites_creator_frame(places, place);
	uint32_t user = th_leak_sites_user_frame(places, place);
	return user == TH_NO_FRAME
		       ? th_printed("{}", th_frame_of(frames, creator))
		       : th_printed("{}, called from {}", th_frame_of(frames, creator),
				 th_frame_of(frames, user));
}

const char *
th_view_site_title(const struct th_leaks *leaks, const struct th_leak_site *place)
{
	const char *line = th_view_leaks_line(&leaks->places, place);

	return place->class_name && !place->internal
		       ? th_printed("{} in {}",
				 th_frames_string(leaks->profile->frames, place->class_name),
				 line)
		       : line;
}

const char *
th_view_finding_title(const struct th_leaks *leaks, const struct th_finding *finding)
{
	const struct th_leak_site *place = &leaks->places.items[finding->place];
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);

	if (finding->level == TH_LEVEL_LINE)
		return th_view_site_title(leaks, place);
	return th_printed("{}, in { line} below it",
		th_frame_of(leaks->profile->frames,
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

/* Elision */

void
th_elide(enum th_elision *items, size_t count, size_t most)
{
	size_t kept = 0, program = 0;

	for (size_t i = 0; i < count; i++)
		kept += items[i] == TH_ELISION_NAMED;
	for (size_t i = 0; i < count; i++) {
		size_t wanted = items[i] == TH_ELISION_PROGRAM && program < PROGRAM_MAX;

		if (items[i] == TH_ELISION_NAMED || items[i] == TH_ELISION_OUT)
			continue;
		if (kept >= most && !wanted)
			items[i] = TH_ELISION_OUT;
		kept++;
		program += wanted;
	}
}

size_t
th_elision_gap(const enum th_elision *items, size_t count, size_t item)
{
	size_t end = item;

	while (end < count && items[end] == TH_ELISION_OUT)
		end++;
	return end - item > 1 ? end - item : 0;
}

/* Stacks */

/* A line: a frame, or frames without names in one library.  Depths count from the allocation. */
struct step {
	uint32_t depth;
	uint32_t count;
};

struct stack {
	const struct th_profile *profile;
	struct th_path path;
	struct step *steps;
	size_t count;
};

static uint32_t
frame_at(const struct stack *stack, uint32_t depth)
{
	return stack->path.frames[stack->path.count - 1 - depth];
}

/* Number of consecutive frames without names in one library, starting at `depth`. */
static uint32_t
count_nameless(const struct stack *stack, uint32_t depth)
{
	const struct th_frames *frames = stack->profile->frames;
	const char *library = NULL;
	uint32_t count = 0;

	for (; depth + count < stack->path.count; count++) {
		uint32_t function = th_frames_function_at(
			frames, frame_at(stack, depth + count));

		if (!th_frames_is_nameless(frames, function) ||
			(library && strcmp(library, th_frames_library(frames, function)) != 0))
			break;
		library = th_frames_library(frames, function);
	}
	return count;
}

static void
split(struct stack *stack)
{
	for (uint32_t depth = 0; depth < stack->path.count;) {
		uint32_t nameless = count_nameless(stack, depth);
		struct step step = {.depth = depth, .count = nameless ? nameless : 1};

		stack->steps[stack->count++] = step;
		depth += step.count;
	}
}

/* Choosing */

/* The lines that name a finding. */
static bool
is_named(const struct stack *stack, uint32_t frame)
{
	uint32_t creator = th_leak_sites_creator_length(stack->profile, &stack->path);

	return creator && (frame == stack->path.frames[creator - 1] ||
				  frame == th_leak_sites_user_of(stack->profile, &stack->path));
}

static enum th_elision *
choose(const struct stack *stack)
{
	enum th_elision *items = th_allocate(stack->count, sizeof(*items));

	for (size_t i = 0; i < stack->count; i++) {
		uint32_t frame = frame_at(stack, stack->steps[i].depth);

		const struct th_function *function = th_frames_function_of(
			stack->profile->frames, frame);

		if (i && function->is_plumbing && stack->count > LINES_MAX)
			items[i] = TH_ELISION_OUT;
		if (function->is_program)
			items[i] = TH_ELISION_PROGRAM;
		if (is_named(stack, frame))
			items[i] = TH_ELISION_NAMED;
	}
	th_elide(items, stack->count, LINES_MAX);
	return items;
}

/* Printing */

static void
print_step(FILE *file, const struct stack *stack, const struct step *step, const char *label)
{
	struct th_frame_of frame = th_frame_of(
		stack->profile->frames, frame_at(stack, step->depth));

	th_print_cut(file,
		step->depth ? "              < " : th_printed("         {-6} ", label), COLUMN,
		step->count > 1
			? th_printed("{} and {} more without names", frame, step->count - 1)
			: th_printed("{}", frame));
}

static void
print_steps(FILE *file, const struct stack *stack, const char *label)
{
	enum th_elision *items = choose(stack);

	for (size_t i = 0; i < stack->count; i++) {
		size_t gap = th_elision_gap(items, stack->count, i);
		uint32_t frames = 0;

		if (!gap)
			print_step(file, stack, &stack->steps[i], label);
		for (size_t k = 0; k < gap; k++)
			frames += stack->steps[i + k].count;
		if (gap)
			th_print(file, "              < {} more\n", frames);
		i += gap ? gap - 1 : 0;
	}
	free(items);
}

void
th_stack_lines_print(
	FILE *file, const struct th_profile *profile, struct th_path path, const char *label)
{
	struct stack stack = {
		.profile = profile,
		.path = path,
		.steps = th_allocate(path.count, sizeof(*stack.steps)),
	};

	split(&stack);
	print_steps(file, &stack, label);
	free(stack.steps);
}

void
th_stack_lines_of_leak(FILE *file, const struct th_leaks *leaks,
	const struct th_leak_site *place, uint32_t number)
{
	struct th_leak_site starter = *place;

	if (place->internal)
		return;
	th_stack_lines_print(file, leaks->profile, th_leaks_path(leaks, place), "by");
	if (leaks->causes[number].starter == TH_NO_FRAME)
		return;
	starter.path = leaks->causes[number].path;
	th_stack_lines_print(file, leaks->profile, th_leaks_path(leaks, &starter), "start");
}

/* Threads and class loaders, as text */

/* "1,200 alive, 20/s", or "about 4,800 ..." if not all were counted. */
static const char *
figures_text(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	const char *about = tallied->level ? "about " : "";
	double alive = tallied->alive + 0.5;
	double rate = th_tallied_rate(tallied);
	double each = tallied->alive > 0 ? tallied->resident / tallied->alive : 0;

	if (is_threads(tallied) && tallied->parts < 1)
		return th_printed("{}{c} alive, {g}/s, {b} of stacks", about, alive, rate,
			tallied->resident);
	if (is_threads(tallied))
		return th_printed("{}{c} alive, {c} ended but not joined, {g}/s, {b} of stacks",
			about, alive - tallied->parts, tallied->parts + 0.5, rate,
			tallied->resident);
	return th_printed("by {}{c} {}{}, {g}/s: metaspace {b}, {b}/s", about, alive,
		tallied->class_name ? "loaders of " : "hidden classes",
		th_frames_string(leaks->profile->frames, tallied->class_name), rate,
		tallied->resident, each * rate);
}

static const char *
line_text(const struct th_leaks *leaks, const char *before, uint32_t number)
{
	return number == TH_NO_FRAME
		       ? ""
		       : th_printed("{}{}", before,
				 th_view_line_text(leaks->profile->frames, number));
}

const char *
th_tallied_headline(
	const struct th_leaks *leaks, const struct th_tallied *tallied, const char *between)
{
	const char *made = is_threads(tallied) ? "threads started at " : "classes defined at ";
	uint32_t starter = leaks->causes[th_causes_number_of_tallied(leaks, tallied)].starter;

	return th_printed("{}{}{}{}{}{}", line_text(leaks, made, starter),
		line_text(leaks, starter == TH_NO_FRAME ? made : ", through ", tallied->line),
		line_text(leaks, ", called from ", tallied->user), between,
		figures_text(leaks, tallied),
		tallied->vm.samples ? th_printed(" and {b} of the VM", tallied->vm.estimate)
				    : "");
}

void
th_tallied_print_causes(FILE *file, const struct th_leaks *leaks)
{
	for (size_t i = 0; leaks && i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (!th_causes_is_part(leaks, (uint32_t)i))
			th_print(file, "  leak: {}\n",
				th_tallied_headline(
					leaks, tallied, is_threads(tallied) ? ": " : " "));
	}
}

/* JSON */

/* Of the line, or of the one that started the threads on which it is. */
static json_t *
user_json(const struct th_leaks *leaks, const struct th_tallied *tallied)
{
	uint32_t frame = tallied->user;

	if (frame == TH_NO_FRAME)
		frame = leaks->causes[th_causes_number_of_tallied(leaks, tallied)].starter;
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
		tallied->bytes, &tallied->vm, tallied->stacks, (bool)true,
		th_tallied_explain(tallied), none, none, none, none);
	if (is_threads(tallied))
		th_json_set(json, "unjoined_threads", tallied->parts);
	else
		th_json_set(json, "live_classes", tallied->parts);
	return json;
}
