/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts by one frame after the other, from the root: each run of rows that agree in the first
 * frames is sorted by the next one. Rows and paths are scattered in memory, so each frame is read
 * once, into the list that is sorted.
 */
#include "report/profile/row_order.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

struct entry {
	const uint32_t *frames;
	uint32_t count;
	uint32_t row;
	uint64_t key; /* by which it is sorted at present */
};

TH_COMPARE(compare_entries, struct entry,
	th_order(left->key, right->key) ?: th_order(left->row, right->row))

static void
sort_by_key(struct entry *entries, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_entries(&entries[i - 1], &entries[i]) > 0) {
			th_sort(entries, count, compare_entries);
			return;
		}
	}
}

/* Sorts entries that agree in the frames before `index`. Ended paths come first, by row. */
static void
sort(struct entry *entries, size_t count, uint32_t index)
{
	size_t end;

	for (size_t i = 0; i < count; i++)
		entries[i].key = index < entries[i].count
					 ? (uint64_t)entries[i].frames[index] + 1
					 : 0;
	sort_by_key(entries, count);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && entries[end].key == entries[i].key;)
			end++;
		if (end - i > 1 && entries[i].key)
			sort(&entries[i], end - i, index + 1);
	}
}

uint32_t *
th_row_order_by_path(const struct th_profile *profile)
{
	size_t count = profile->rows_count;
	uint32_t *order = th_allocate(count, sizeof(*order));
	struct entry *entries = th_allocate(count, sizeof(*entries));
	size_t shown = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct th_path path = th_paths_get(profile->paths, profile->rows[i].path);

		entries[i] = (struct entry){.frames = path.frames,
			.count = path.count,
			.row = i,
			.key = profile->rows[i].shows_internal};
		shown += !profile->rows[i].shows_internal;
	}
	sort_by_key(entries, count);
	sort(entries, shown, 0);
	sort(entries + shown, count - shown, 0);
	for (size_t i = 0; i < count; i++)
		order[i] = entries[i].row;
	free(entries);
	return order;
}
