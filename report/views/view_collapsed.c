/* SPDX-License-Identifier: Apache-2.0 */
/* The format of flame graph tools: frames separated by semicolons, a blank, and an integer. */
#include "report/views/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

/* Rows that print alike compare equal: there is one copy of each name. */
static int
compare_rows(
	const struct th_profile *profile, const struct th_row *left, const struct th_row *right)
{
	uint32_t functions[2];

	if (profile->options->annotate && left->heap != right->heap)
		return th_order(left->heap, right->heap);
	for (uint32_t i = 0;; i++) {
		bool has_left = th_profile_function_at(profile, left, i, &functions[0]);
		bool has_right = th_profile_function_at(profile, right, i, &functions[1]);

		if (!has_left || !has_right)
			return has_left - has_right;
		const char *left_name = th_frames_function_name(profile->frames, functions[0]);
		const char *right_name = th_frames_function_name(profile->frames, functions[1]);

		if (left_name != right_name)
			return strcmp(left_name, right_name);
	}
}

TH_COMPARE_WITH(compare, uint32_t, const struct th_profile, profile,
	compare_rows(profile, &profile->rows[*left], &profile->rows[*right]))

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
print_row(FILE *file, const struct th_profile *profile, const struct th_row *row, double value)
{
	uint64_t whole = (uint64_t)fmin(round(value), 0x1p63);
	uint32_t function;

	if (!whole)
		return;
	if (profile->options->annotate)
		fputs(heap_marker(row->heap), file);
	for (uint32_t i = 0; th_profile_function_at(profile, row, i, &function); i++) {
		if (i)
			fputc(';', file);
		/* Semicolons separate frames. */
		for (const char *name = th_frames_function_name(profile->frames, function);
			*name; name++)
			putc_unlocked(*name == ';' ? ':' : *name, file);
	}
	fprintf(file, " %" PRIu64 "\n", whole);
}

/* Rows that print alike (of two classes, or of both heaps) are one line. */
void
th_view_collapsed(FILE *file, const struct th_profile *profile)
{
	uint32_t *order = th_allocate(profile->rows_count, sizeof(*order));
	size_t count = 0;

	for (uint32_t i = 0; i < profile->rows_count; i++) {
		/* The heap of a stack is not shown: its reader adds up all of them. */
		if (!th_profile_contents(profile, &profile->rows[i]) ||
			profile->options->annotate)
			order[count++] = i;
	}
	th_sort_with(order, count, compare, profile);
	for (size_t i = 0; i < count;) {
		const struct th_row *row = &profile->rows[order[i]];
		double value = 0;

		for (; i < count && !compare_rows(profile, row, &profile->rows[order[i]]); i++)
			value += th_profile_point(
				profile, th_profile_sum(profile, &profile->rows[order[i]]));
		print_row(file, profile, row, value);
	}
	free(order);
}
