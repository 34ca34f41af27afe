/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a watched recording.  Histories hold changes, so curves are computed backwards
 * from the current live bytes.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/live/watch.h"

/* Seconds over which the allocation rate is averaged. */
#define RATE_SECONDS 10
/* No growth is shown of less, nor of a recording's first seconds. */
#define WARM_UP_SECONDS 5

/* Number of seconds of a curve that the recording covers. */
static int
known_seconds(const struct th_watch *watch)
{
	return watch->second + 1 < TH_WATCH_SECONDS ? (int)watch->second + 1 : TH_WATCH_SECONDS;
}

/*
 * The value of one of the last seconds, 0 = the latest.  Seconds that passed since the last
 * summing up are empty.
 */
static double
slot_at(const struct th_watch *watch, const float slots[TH_WATCH_SECONDS], int back)
{
	int64_t slot = TH_WATCH_SECONDS - 1 - back + watch->second - watch->summed;

	return slot < TH_WATCH_SECONDS ? (double)slots[slot] : 0;
}

void
th_watch_live_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS])
{
	double live = th_sums_point(&site->live.bytes);

	for (int back = 0; back < TH_WATCH_SECONDS; back++) {
		curve_ret[TH_WATCH_SECONDS - 1 - back] = back < known_seconds(watch)
								 ? fmax(live, 0)
								 : 0;
		live -= slot_at(watch, site->history.change, back);
	}
}

void
th_watch_allocated_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS])
{
	for (int back = 0; back < TH_WATCH_SECONDS; back++)
		curve_ret[TH_WATCH_SECONDS - 1 - back] = slot_at(
			watch, site->history.allocated, back);
}

/*
 * The seconds of growth: without the first fifth of the recording, at least WARM_UP_SECONDS, in which
 * a program maps its heaps and fills its caches; 0 = too early.
 */
static int
growth_seconds(const struct th_watch *watch)
{
	int64_t all = watch->second + 1;
	int64_t warm = all / 5 > WARM_UP_SECONDS ? all / 5 : WARM_UP_SECONDS;

	if (all - warm < WARM_UP_SECONDS)
		return 0;
	return all - warm < TH_WATCH_SECONDS ? (int)(all - warm) : TH_WATCH_SECONDS;
}

double
th_watch_growth(const struct th_watch *watch, const struct th_watch_site *site)
{
	int seconds = growth_seconds(watch);
	double change = 0;

	for (int back = 0; back < seconds; back++)
		change += slot_at(watch, site->history.change, back);
	return seconds ? change / seconds : 0;
}

double
th_watch_rate(const struct th_watch *watch, const struct th_watch_site *site)
{
	double curve[TH_WATCH_SECONDS];
	int known = known_seconds(watch);
	int seconds = known < RATE_SECONDS ? known : RATE_SECONDS;
	double sum = 0;

	th_watch_allocated_curve(watch, site, curve);
	for (int i = 0; i < seconds; i++)
		sum += curve[TH_WATCH_SECONDS - 1 - i];
	return sum / seconds;
}

/* Stacks of a site */

static int
compare_stacks(const void *a, const void *b)
{
	const struct th_watch_stack *left = a;
	const struct th_watch_stack *right = b;
	double difference = th_sums_point(&right->live.bytes) -
			    th_sums_point(&left->live.bytes);

	if (difference == 0)
		difference = th_sums_point(&right->allocated.bytes) -
			     th_sums_point(&left->allocated.bytes);
	if (difference != 0)
		return difference > 0 ? 1 : -1;
	return (left->path > right->path) - (left->path < right->path);
}

static struct th_watch_stack *
find_stack(struct th_watch_stacks *stacks, struct th_id_map *ids, uint32_t path)
{
	bool added;
	uint32_t number = th_id_map_intern(ids, path, &added);
	struct th_watch_stack stack = {.path = path};

	if (added)
		th_array_append(stacks, items, stack);
	return &stacks->items[number];
}

void
th_watch_stacks_init(
	struct th_watch_stacks *stacks, const struct th_watch *watch, uint32_t site)
{
	struct th_id_map ids = {0};

	*stacks = (struct th_watch_stacks){0};
	for (size_t i = 0; i < watch->row_sites_count; i++) {
		const struct th_row *row = &watch->profile->rows[i];

		if (watch->row_sites[i] != site)
			continue;
		struct th_watch_stack *stack = find_stack(stacks, &ids, row->path);
		th_estimator_merge(&stack->allocated,
			th_profile_row_sum(watch->profile, row, TH_MEASURE_ALLOC));
		th_estimator_merge(
			&stack->live, th_profile_row_sum(watch->profile, row, TH_MEASURE_LIVE));
	}
	th_id_map_deinit(&ids);
	if (stacks->items_count)
		qsort(stacks->items, stacks->items_count, sizeof(*stacks->items),
			compare_stacks);
}

void
th_watch_stacks_deinit(struct th_watch_stacks *stacks)
{
	free(stacks->items);
}
