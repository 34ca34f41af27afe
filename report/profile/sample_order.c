/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counting sort: while samples are placed, the start of the next group is the position of the
 * next sample of a group; it ends up at the group's end.
 */
#include "report/profile/sample_order.h"

#include <stdlib.h>

#include "report/base/allocate.h"

struct sorter {
	const struct th_profile *profile;
	const uint32_t *groups;
	struct th_sample_order *order;
};

static uint32_t
group_of(const struct sorter *sorter, uint32_t row)
{
	return sorter->groups ? sorter->groups[row] : row;
}

/* Calls `add` for each sample that has a row, in the order of heaps and samples. */
static void
each_sample(const struct sorter *sorter, void (*add)(const struct sorter *, uint32_t, uint32_t))
{
	const struct th_profile *profile = sorter->profile;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		const uint32_t *rows = profile->sample_rows[heap];
		size_t count = profile->recording->samples[heap].items_count;

		for (size_t i = 0; i < count; i++) {
			if (rows[i] != TH_NO_ROW)
				add(sorter, group_of(sorter, rows[i]), (uint32_t)i);
		}
	}
}

static void
count_sample(const struct sorter *sorter, uint32_t group, uint32_t sample)
{
	(void)sample;
	sorter->order->starts[group + 2]++;
}

static void
place_sample(const struct sorter *sorter, uint32_t group, uint32_t sample)
{
	sorter->order->samples[sorter->order->starts[group + 1]++] = sample;
}

void
th_sample_order_init(struct th_sample_order *order, const struct th_profile *profile,
	const uint32_t *groups, size_t count)
{
	struct sorter sorter = {profile, groups, order};

	order->starts = th_allocate(count + 2, sizeof(*order->starts));
	each_sample(&sorter, count_sample);
	for (size_t i = 1; i < count + 2; i++)
		order->starts[i] += order->starts[i - 1];
	order->samples = th_allocate(order->starts[count + 1], sizeof(*order->samples));
	each_sample(&sorter, place_sample);
}

void
th_sample_order_deinit(struct th_sample_order *order)
{
	free(order->starts);
	free(order->samples);
}
