/* SPDX-License-Identifier: Apache-2.0 */
#include "report/profile/order.h"

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

/*
 * Counts the samples that have a row, or places them, in the order of heaps and samples: a counting
 * sort. While samples are placed, the start of the next group is the position of the next sample of
 * a group; it ends up at the group's end.
 */
static void
pass(struct th_sample_order *order, const struct th_profile *profile, const uint32_t *groups,
	bool places)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const uint32_t *rows = profile->sample_rows[heap];
		size_t count = profile->recording->samples[heap].items_count;

		for (size_t i = 0; i < count; i++) {
			if (rows[i] == TH_NO_ROW)
				continue;
			uint32_t group = groups ? groups[rows[i]] : rows[i];
			if (places)
				order->samples[order->starts[group + 1]++] = (uint32_t)i;
			else
				order->starts[group + 2]++;
		}
	}
}

void
th_sample_order_init(struct th_sample_order *order, const struct th_profile *profile,
	const uint32_t *groups, size_t count)
{
	order->starts = th_allocate(count + 2, sizeof(*order->starts));
	pass(order, profile, groups, false);
	for (size_t i = 1; i < count + 2; i++)
		order->starts[i] += order->starts[i - 1];
	order->samples = th_allocate(order->starts[count + 1], sizeof(*order->samples));
	pass(order, profile, groups, true);
}

void
th_sample_order_deinit(struct th_sample_order *order)
{
	free(order->starts);
	free(order->samples);
}
