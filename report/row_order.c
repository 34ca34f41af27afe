/* SPDX-License-Identifier: Apache-2.0 */
#include "report/row_order.h"

#include <stdlib.h>

#include "report/allocate.h"

static int
compare_paths(const struct th_path *left, const struct th_path *right)
{
	for (uint32_t i = 0; i < left->count && i < right->count; i++) {
		if (left->frames[i] != right->frames[i])
			return left->frames[i] < right->frames[i] ? -1 : 1;
	}
	return (left->count > right->count) - (left->count < right->count);
}

static int
compare_rows(const void *a, const void *b, void *data)
{
	const struct th_profile *profile = data;
	const struct th_row *left = &profile->rows[*(const uint32_t *)a];
	const struct th_row *right = &profile->rows[*(const uint32_t *)b];
	struct th_path x = th_paths_get(profile->paths, left->path);
	struct th_path y = th_paths_get(profile->paths, right->path);
	int order;

	if (left->shows_internal != right->shows_internal)
		return left->shows_internal ? 1 : -1;
	order = compare_paths(&x, &y);
	return order ? order : (left > right) - (left < right);
}

uint32_t *
th_row_order_by_path(const struct th_profile *profile)
{
	size_t count = profile->rows_count;
	uint32_t *order = th_allocate(count, sizeof(*order));

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), compare_rows, (void *)(uintptr_t)profile);
	return order;
}
