/* SPDX-License-Identifier: Apache-2.0 */
/* The format of flame graph tools: frames separated by semicolons, a blank, and an integer. */
#include "report/views/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

struct stack {
	uint32_t *functions; /* root first */
	uint32_t count;
	enum th_heap heap;
	double value;
};

struct collapsed {
	FILE *file;
	const struct th_profile *profile;
	TH_ARRAY(struct stack, stacks);
};

/* Stacks that print alike compare equal: there is one copy of each name. */
static int
compare_stacks(const void *a, const void *b, void *data)
{
	const struct collapsed *collapsed = data;
	const struct th_frames *frames = collapsed->profile->frames;
	const struct stack *left = a;
	const struct stack *right = b;

	if (collapsed->profile->options->annotate && left->heap != right->heap)
		return left->heap < right->heap ? -1 : 1;
	for (uint32_t i = 0; i < left->count && i < right->count; i++) {
		const char *left_name = th_frames_function_name(frames, left->functions[i]);
		const char *right_name = th_frames_function_name(frames, right->functions[i]);

		if (left_name != right_name)
			return strcmp(left_name, right_name);
	}
	return (left->count > right->count) - (left->count < right->count);
}

/* Printing */

static const char *
heap_marker(enum th_heap heap)
{
	static const char *const markers[] = {[TH_HEAP_JAVA] = "[java heap];",
		[TH_HEAP_NATIVE] = "[native heap];",
		[TH_HEAP_MAPPED] = "[mapped];"};

	return markers[heap];
}

static void
print_stack(const struct collapsed *collapsed, const struct stack *stack, double value)
{
	uint64_t whole = (uint64_t)fmin(round(value), 0x1p63);

	if (!whole)
		return;
	if (collapsed->profile->options->annotate)
		fputs(heap_marker(stack->heap), collapsed->file);
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			fputc(';', collapsed->file);
		const char *name = th_frames_function_name(
			collapsed->profile->frames, stack->functions[i]);
		/* Semicolons separate frames. */
		for (; *name; name++)
			putc_unlocked(*name == ';' ? ':' : *name, collapsed->file);
	}
	fprintf(collapsed->file, " %" PRIu64 "\n", whole);
}

/* Merges stacks that print alike (two classes, or both heaps) into one line. */
static void
print_stacks(struct collapsed *collapsed)
{
	for (size_t i = 0; i < collapsed->stacks_count;) {
		const struct stack *stack = &collapsed->stacks[i];
		double value = 0;

		for (; i < collapsed->stacks_count &&
			!compare_stacks(stack, &collapsed->stacks[i], collapsed);
			i++)
			value += collapsed->stacks[i].value;
		print_stack(collapsed, stack, value);
	}
}

static struct stack
stack_of(const struct th_profile *profile, const struct th_row *row)
{
	struct stack stack = {
		.count = th_profile_functions(profile, row, NULL, 0),
		.heap = row->heap,
		.value = th_profile_point(profile, th_profile_sum(profile, row)),
	};

	stack.functions = th_allocate(stack.count, sizeof(*stack.functions));
	th_profile_functions(profile, row, stack.functions, stack.count);
	return stack;
}

void
th_view_collapsed(FILE *file, const struct th_profile *profile)
{
	struct collapsed collapsed = {.file = file, .profile = profile};

	for (size_t i = 0; i < profile->rows_count; i++) {
		/* The heap of a stack is not shown: its reader adds up all of them. */
		if (th_profile_contents(profile, &profile->rows[i]) &&
			!profile->options->annotate)
			continue;
		struct stack stack = stack_of(profile, &profile->rows[i]);

		th_array_append(&collapsed, stacks, stack);
	}
	th_sort_with(collapsed.stacks, collapsed.stacks_count, compare_stacks, &collapsed);
	print_stacks(&collapsed);
	for (size_t i = 0; i < collapsed.stacks_count; i++)
		free(collapsed.stacks[i].functions);
	free(collapsed.stacks);
}
