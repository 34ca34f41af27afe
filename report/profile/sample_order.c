/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counting sort: while samples are placed, the start of the next group is the position of the
 * next sample of a group; it ends up at the group's end.
 */
#include "report/profile/sample_order.h"

#include <stdlib.h>

#include "report/base/allocate.h"

/* Counts the samples that have a row, or places them, in the order of heaps and samples. */
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
