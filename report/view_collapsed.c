/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of flame graph tools: frames separated by semicolons, a blank, a whole number.
 */
#include "report/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"

struct line {
	char *stack;
	double value;
};

struct lines {
	TH_ARRAY(struct line, items);
};

/* A semicolon in a name would read as two frames. */
static void
print_name(FILE *file, const char *name)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, file);
}

static const char *
heap_marker(enum th_heap heap)
{
	return heap == TH_HEAP_JAVA ? "[java heap]" : "[native heap]";
}

static char *
print_stack(const struct th_profile *profile, const struct th_row *row)
{
	uint32_t count = th_profile_functions(profile, row, NULL, 0);
	uint32_t *functions = th_allocate(count, sizeof(*functions));
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		th_out_of_memory();
	th_profile_functions(profile, row, functions, count);
	if (profile->options->annotate)
		fprintf(file, "%s;", heap_marker(row->heap));
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			fputc(';', file);
		print_name(file, th_frames_function_name(profile->frames, functions[i]));
	}
	if (fclose(file))
		th_out_of_memory();
	free(functions);
	return text;
}

static int
compare(const void *a, const void *b)
{
	const struct line *left = a;
	const struct line *right = b;

	return strcmp(left->stack, right->stack);
}

/* Prints lines of equal stacks (two classes, both heaps) as one. */
static void
print_lines(FILE *file, const struct lines *lines)
{
	for (size_t i = 0; i < lines->items_count;) {
		const char *stack = lines->items[i].stack;
		double value = 0;

		for (; i < lines->items_count && !strcmp(lines->items[i].stack, stack); i++)
			value += lines->items[i].value;
		uint64_t whole = (uint64_t)fmin(round(value), 0x1p63);
		if (whole)
			fprintf(file, "%s %" PRIu64 "\n", stack, whole);
	}
}

void
th_view_collapsed(FILE *file, const struct th_profile *profile)
{
	struct lines lines = {0};

	for (size_t i = 0; i < profile->rows_count; i++) {
		const struct th_row *row = &profile->rows[i];
		struct line line = {
			.stack = print_stack(profile, row),
			.value = th_profile_point(profile, &row->sum),
		};

		th_array_append(&lines, items, line);
	}
	if (lines.items_count)
		qsort(lines.items, lines.items_count, sizeof(*lines.items), compare);
	print_lines(file, &lines);
	for (size_t i = 0; i < lines.items_count; i++)
		free(lines.items[i].stack);
	free(lines.items);
}
