/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/row_order.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

/* Rows and paths are scattered in memory: what is compared first is here. */
struct entry {
	uint32_t row;
	bool is_internal;
	struct th_path path;
};

static int
compare_paths(const struct th_path *left, const struct th_path *right)
{
	for (uint32_t i = 0; i < left->count && i < right->count; i++) {
		if (left->frames[i] != right->frames[i])
			return th_order(left->frames[i], right->frames[i]);
	}
	return th_order(left->count, right->count);
}

TH_COMPARE(compare_entries, struct entry,
	th_order(left->is_internal, right->is_internal)
		?: compare_paths(&left->path, &right->path) ?: th_order(left->row, right->row))

uint32_t *
th_row_order_by_path(const struct th_profile *profile)
{
	size_t count = profile->rows_count;
	uint32_t *order = th_allocate(count, sizeof(*order));
	struct entry *entries = th_allocate(count, sizeof(*entries));

	for (uint32_t i = 0; i < count; i++)
		entries[i] = (struct entry){i, profile->rows[i].shows_internal,
			th_paths_get(profile->paths, profile->rows[i].shown)};
	th_sort(entries, count, compare_entries);
	for (size_t i = 0; i < count; i++)
		order[i] = entries[i].row;
	free(entries);
	return order;
}
