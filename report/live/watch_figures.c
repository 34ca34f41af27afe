/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of what is watched.  Histories hold changes, so a curve is read backwards from what is
 * alive now.
 */
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/live/watch_work.h"

/* Seconds over which the rate of allocation is taken. */
#define RATE_SECONDS 10

struct th_estimate
th_watch_allocated(
	const struct th_watch *watch, enum th_heap heap, const struct th_estimator *sum)
{
	return th_calibration_bytes(&watch->calibrations[heap], sum);
}

struct th_estimate
th_watch_total(const struct th_watch *watch, enum th_heap heap)
{
	const struct th_calibration *calibration = &watch->calibrations[heap];
	const struct th_estimator *all = &watch->heaps[heap].allocated;

	return all->samples == calibration->window_samples
		       ? calibration->bytes
		       : th_watch_allocated(watch, heap, all);
}

struct th_estimate
th_watch_live(const struct th_watch *watch, enum th_heap heap, const struct th_estimator *sum)
{
	struct th_calibration calibration = th_lifetimes_calibration(&watch->lifetimes,
		&watch->calibrations[heap], heap, &watch->moment, sum->samples);

	return th_calibration_bytes(&calibration, sum);
}

double
th_watch_live_point(const struct th_watch_site *site)
{
	/* What was added and taken away again may leave a hair. */
	return site->live.samples ? fmax(th_sums_point(&site->live.bytes), 0) : 0;
}

double
th_watch_allocated_point(const struct th_watch_site *site)
{
	return th_sums_point(&site->allocated.bytes);
}

/* Of a curve: since the recording runs. */
static int
known_seconds(const struct th_watch *watch)
{
	return watch->second + 1 < TH_WATCH_SECONDS ? (int)watch->second + 1 : TH_WATCH_SECONDS;
}

void
th_watch_live_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS])
{
	double live = th_watch_live_point(site);

	for (int back = 0; back < TH_WATCH_SECONDS; back++) {
		int64_t second = watch->second - back;

		curve_ret[TH_WATCH_SECONDS - 1 - back] = second >= 0 ? fmax(live, 0) : 0;
		if (second >= 0)
			live -= (double)site->history.change[second % TH_WATCH_SECONDS];
	}
}

void
th_watch_allocated_curve(const struct th_watch *watch, const struct th_watch_site *site,
	double curve_ret[TH_WATCH_SECONDS])
{
	for (int back = 0; back < TH_WATCH_SECONDS; back++) {
		int64_t second = watch->second - back;

		curve_ret[TH_WATCH_SECONDS - 1 - back] =
			second >= 0 ? (double)site->history.allocated[second % TH_WATCH_SECONDS]
				    : 0;
	}
}

double
th_watch_growth(const struct th_watch *watch, const struct th_watch_site *site)
{
	double change = 0;

	for (int i = 0; i < TH_WATCH_SECONDS; i++)
		change += (double)site->history.change[i];
	return change / known_seconds(watch);
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
	enum th_heap heap = watch->sites[site].heap;
	const struct th_watch_placed *placed = &watch->work->placed[heap];
	struct th_id_map ids = {0};

	*stacks = (struct th_watch_stacks){0};
	for (size_t i = 0; i < placed->sites_count; i++) {
		if (placed->sites[i] != site)
			continue;
		const struct th_sample *sample =
			&th_recording_allocations(watch->recording, heap)->items[i];
		uint32_t path = th_paths_resolve(watch->paths, sample->stack, heap);
		struct th_watch_stack *stack = find_stack(stacks, &ids, path);
		struct th_estimator allocated = th_watch_allocation(watch, heap, i);
		struct th_estimator live = th_watch_rest(watch, heap, i);

		th_estimator_merge(&stack->allocated, &allocated);
		th_estimator_merge(&stack->live, &live);
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
