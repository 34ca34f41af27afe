/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted by start, the longer of two ranges with equal starts first, so that the innermost
 * range around an address is the last one that covers it.
 */
#include "report/symbols/address_index.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "unify/shared/bisect.h"

void
th_address_index_deinit(struct th_address_index *index)
{
	free(index->ranges);
	free(index->reach);
	*index = (struct th_address_index){0};
}

void
th_address_index_add(struct th_address_index *index, uint64_t start, uint64_t end,
	uint32_t value, uint32_t rank)
{
	const struct th_address_range range = {start, end, value, rank};

	th_array_append(index, ranges, range);
}

TH_COMPARE(compare, struct th_address_range,
	th_order(left->start, right->start) ?: th_order(right->end, left->end)
		?: th_order(left->rank, right->rank) ?: th_order(left->value, right->value))

void
th_address_index_sort(struct th_address_index *index)
{
	uint64_t highest = 0;

	free(index->reach);
	index->reach = th_allocate(index->ranges_count, sizeof(*index->reach));
	th_sort(index->ranges, index->ranges_count, compare);
	for (size_t i = 0; i < index->ranges_count; i++) {
		if (index->ranges[i].end > highest)
			highest = index->ranges[i].end;
		index->reach[i] = highest;
	}
}

void
th_address_index_extend_labels(
	struct th_address_index *index, const struct th_address_index *limits)
{
	uint64_t next = UINT64_MAX; /* the lowest start above the current range */

	for (size_t i = index->ranges_count; i-- > 0;) {
		struct th_address_range *range = &index->ranges[i];
		const struct th_address_range *limit;

		if (i + 1 < index->ranges_count && index->ranges[i + 1].start > range->start)
			next = index->ranges[i + 1].start;
		if (range->end > range->start || index->reach[i] > range->start)
			continue;
		limit = th_address_index_find(limits, range->start);
		if (limit)
			range->end = next < limit->end ? next : limit->end;
	}
	th_address_index_sort(index);
}

const struct th_address_range *
th_address_index_find(const struct th_address_index *index, uint64_t address)
{
	/* Ranges that start at or below it. */
	size_t i = th_bisect(index->ranges_count, k, index->ranges[k].start <= address);

	while (i-- > 0 && index->reach[i] > address) {
		if (index->ranges[i].end > address)
			return &index->ranges[i];
	}
	return NULL;
}
