/* SPDX-License-Identifier: Apache-2.0 */
#include "report/views/finding_parts.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/leaks/causes.h"
#include "report/views/values.h"

/* Column at which the lines begin. */
#define COLUMN 16
#define LINES_MAX 12

/* Items of the program that are wanted, among the first ones or beside them. */
#define PROGRAM_MAX 8

/* Elision */

void
th_elide(enum th_elision *items, size_t count, size_t most)
{
	size_t kept = 0, program = 0;

	for (size_t i = 0; i < count; i++)
		kept += items[i] == TH_ELISION_NAMED;
	for (size_t i = 0; i < count; i++) {
		size_t wanted = items[i] == TH_ELISION_PROGRAM && program < PROGRAM_MAX;

		if (items[i] == TH_ELISION_NAMED)
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

		if (th_frames_function_of(stack->profile->frames, frame)->is_program)
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
	char *before = step->depth ? th_printed("{}", "              < ")
				   : th_printed("         {-6} ", label);

	th_print_cut(file, before, COLUMN,
		step->count > 1
			? th_printed("{} and {} more without names", frame, step->count - 1)
			: th_printed("{}", frame));
	free(before);
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
	if (th_causes_starter(leaks, number) == TH_NO_FRAME)
		return;
	starter.path = leaks->causes[number].path;
	th_stack_lines_print(file, leaks->profile, th_leaks_path(leaks, &starter), "start");
}
