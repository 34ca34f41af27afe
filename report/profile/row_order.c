/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compared values of a row are copied into the list to be sorted, since rows and paths are
 * scattered in memory and each is compared many times.
 */
#include "report/profile/row_order.h"

#include <stdlib.h>

#include "report/base/allocate.h"

struct entry {
	const uint32_t *frames;
	uint32_t count;
	uint32_t row : 31;
	uint32_t shows_internal : 1;
};

static int
compare_paths(const struct entry *left, const struct entry *right)
{
	for (uint32_t i = 0; i < left->count && i < right->count; i++) {
		if (left->frames[i] != right->frames[i])
			return left->frames[i] < right->frames[i] ? -1 : 1;
	}
	return (left->count > right->count) - (left->count < right->count);
}

static int
compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;
	int order;

	if (left->shows_internal != right->shows_internal)
		return left->shows_internal ? 1 : -1;
	order = compare_paths(left, right);
	return order ? order : (left->row > right->row) - (left->row < right->row);
}

uint32_t *
th_row_order_by_path(const struct th_profile *profile)
{
	size_t count = profile->rows_count;
	uint32_t *order = th_allocate(count, sizeof(*order));
	struct entry *entries = th_allocate(count, sizeof(*entries));

	for (uint32_t i = 0; i < count; i++) {
		struct th_path path = th_paths_get(profile->paths, profile->rows[i].path);

		entries[i] = (struct entry){.frames = path.frames,
			.count = path.count,
			.row = i & INT32_MAX,
			.shows_internal = profile->rows[i].shows_internal};
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		order[i] = entries[i].row;
	free(entries);
	return order;
}
