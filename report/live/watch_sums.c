/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each sample adds to the sums of its site and of its heap, when it comes and when it ends.
 *
 * A native block or a Java object ends at once.  A mapping may go in parts: it stays one sample,
 * and what is left of it is what it adds to what is alive.
 */
#include "report/base/allocate.h"
#include "report/log/mapped_parts.h"
#include "report/live/watch_work.h"
#include "unify/shared/clock.h"

/* Time */

int64_t
th_watch_second_of(const struct th_watch *watch, uint64_t time)
{
	uint64_t start = watch->recording->start;

	return time > start ? (int64_t)((time - start) / TH_NS_PER_S) : 0;
}

/* The slot of a time; NULL when it is longer ago than histories go back. */
static float *
slot_of(const struct th_watch *watch, float *slots, uint64_t time)
{
	int64_t second = th_watch_second_of(watch, time);

	if (second <= watch->second - TH_WATCH_SECONDS)
		return NULL;
	if (second > watch->second)
		second = watch->second;
	return &slots[second % TH_WATCH_SECONDS];
}

static void
add_to_history(const struct th_watch *watch, float *slots, uint64_t time, double value)
{
	float *slot = slot_of(watch, slots, time);

	if (slot)
		*slot += (float)value;
}

/* Samples by themselves */

static const struct th_sample *
get_sample(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	return &th_recording_allocations(watch->recording, heap)->items[index];
}

struct th_estimator
th_watch_allocation(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	const struct th_calibration *calibration = &watch->calibrations[heap];
	struct th_estimator alone = {0};

	th_calibration_add(
		calibration, watch->recording, get_sample(watch, heap, index), &alone);
	return alone;
}

/* Whether the end of a sample is seen, when it comes. */
static bool
is_followed(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	if (heap == TH_HEAP_MAPPED)
		return th_lifetimes_is_tracked(heap, get_sample(watch, heap, index));
	return th_lifetimes_follows(&watch->lifetimes, heap, index, &watch->moment);
}

/* What a sample, or so many bytes of a mapped one, adds to what is alive. */
static struct th_estimator
live_part(const struct th_watch *watch, enum th_heap heap, size_t index, uint64_t bytes)
{
	const struct th_calibration *calibration = &watch->calibrations[heap];
	struct th_sample sample = *get_sample(watch, heap, index);
	struct th_estimator alone = {0};

	if (heap == TH_HEAP_MAPPED)
		sample = th_mapped_parts_piece(watch->recording, &sample, bytes);
	th_lifetimes_add(&watch->lifetimes, calibration, heap, index, &sample,
		th_lifetimes_keep(&watch->lifetimes, heap, &watch->moment), &alone);
	return alone;
}

/* What is left of a sample, and since when; a mapping may go in parts, all else goes at once. */
static struct th_watch_remains
remains_of(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	if (heap == TH_HEAP_MAPPED)
		return watch->work->remains[index];
	uint64_t end = watch->lifetimes.ends[heap][index];
	struct th_watch_remains remains = {.time = end, .is_gone = end != TH_END_NEVER};
	remains.bytes = remains.is_gone ? 0 : get_sample(watch, heap, index)->size;
	return remains;
}

struct th_estimator
th_watch_rest(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	struct th_watch_remains remains = remains_of(watch, heap, index);

	if (remains.is_gone || !is_followed(watch, heap, index))
		return (struct th_estimator){0};
	return live_part(watch, heap, index, remains.bytes);
}

/* Sums */

/* The sums that a placed sample is part of. */
struct both {
	struct th_watch_site *sites[2];
};

static struct both
both_of(struct th_watch *watch, enum th_heap heap, size_t index)
{
	uint32_t site = watch->work->placed[heap].sites[index];

	return (struct both){{&watch->sites[site], &watch->heaps[heap]}};
}

static void
add_allocation(const struct th_watch *watch, const struct both *both,
	const struct th_estimator *alone, uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		struct th_watch_site *site = both->sites[i];

		th_estimator_merge(&site->allocated, alone);
		add_to_history(
			watch, site->history.allocated, time, th_sums_point(&alone->bytes));
	}
}

static void
add_live(const struct th_watch *watch, const struct both *both,
	const struct th_estimator *alone, uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		struct th_watch_site *site = both->sites[i];

		th_estimator_merge(&site->live, alone);
		add_to_history(watch, site->history.change, time, th_sums_point(&alone->bytes));
	}
}

static void
take_live(const struct th_watch *watch, const struct both *both,
	const struct th_estimator *alone, uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		struct th_watch_site *site = both->sites[i];

		th_estimator_subtract(&site->live, alone);
		add_to_history(
			watch, site->history.change, time, -th_sums_point(&alone->bytes));
	}
}

/* Of a sample of which `bytes` were alive until `remains.time`, and then what remains. */
static void
shrink(struct th_watch *watch, enum th_heap heap, size_t index, uint64_t bytes,
	const struct th_watch_remains *remains)
{
	struct both both = both_of(watch, heap, index);
	struct th_estimator before = live_part(watch, heap, index, bytes);

	take_live(watch, &both, &before, remains->time);
	if (remains->is_gone)
		return;
	struct th_estimator after = live_part(watch, heap, index, remains->bytes);
	add_live(watch, &both, &after, remains->time);
}

void
th_watch_add(struct th_watch *watch, enum th_heap heap, size_t index)
{
	const struct th_sample *sample = get_sample(watch, heap, index);
	struct th_watch_remains remains = remains_of(watch, heap, index);
	struct th_estimator allocated = th_watch_allocation(watch, heap, index);
	struct both both = both_of(watch, heap, index);

	add_allocation(watch, &both, &allocated, sample->time);
	if (!is_followed(watch, heap, index))
		return;
	struct th_estimator live = live_part(watch, heap, index, sample->size);
	add_live(watch, &both, &live, sample->time);
	if (remains.is_gone || remains.bytes < sample->size)
		shrink(watch, heap, index, sample->size, &remains);
}

/* Ends */

/* Whether a sample stands in the sums of what is alive. */
static bool
is_counted(const struct th_watch *watch, enum th_heap heap, size_t index)
{
	return index < watch->work->placed[heap].sites_count && is_followed(watch, heap, index);
}

static void
end_sample(struct th_watch *watch, enum th_heap heap, const struct th_free_info *info)
{
	size_t index = th_lifetimes_end(&watch->lifetimes, heap, info);

	if (index == SIZE_MAX || !is_counted(watch, heap, index))
		return;
	struct th_watch_remains remains = remains_of(watch, heap, index);
	shrink(watch, heap, index, get_sample(watch, heap, index)->size, &remains);
}

static void
end_part(struct th_watch *watch, const struct th_mapped_end_info *end)
{
	const struct th_samples *samples = &watch->recording->mappings;
	size_t index = th_samples_find(samples, end->record);

	if (index == SIZE_MAX || watch->work->remains[index].is_gone)
		return;
	struct th_watch_remains *remains = &watch->work->remains[index];
	uint64_t bytes = remains->bytes;
	remains->bytes -= end->bytes < bytes ? end->bytes : bytes;
	remains->is_gone = !remains->bytes;
	if (end->time > remains->time)
		remains->time = end->time;
	if (is_counted(watch, TH_HEAP_MAPPED, index))
		shrink(watch, TH_HEAP_MAPPED, index, bytes, remains);
}

void
th_watch_extend(struct th_watch *watch)
{
	const struct th_samples *mappings = &watch->recording->mappings;
	struct th_watch_work *work = watch->work;

	th_lifetimes_extend(&watch->lifetimes, TH_HEAP_JAVA);
	th_lifetimes_extend(&watch->lifetimes, TH_HEAP_NATIVE);
	while (work->remains_count < mappings->items_count) {
		const struct th_sample *sample = &mappings->items[work->remains_count];
		struct th_watch_remains remains = {sample->size, sample->time, false};

		th_array_append(work, remains, remains);
	}
}

void
th_watch_add_ends(struct th_watch *watch)
{
	const struct th_recording *recording = watch->recording;
	struct th_watch_work *work = watch->work;

	for (; work->frees_seen < recording->frees_count; work->frees_seen++)
		end_sample(watch, TH_HEAP_NATIVE, &recording->frees[work->frees_seen]);
	for (; work->deaths_seen < recording->deaths_count; work->deaths_seen++)
		end_sample(watch, TH_HEAP_JAVA, &recording->deaths[work->deaths_seen]);
	for (; work->mapped_ends_seen < recording->mapped_ends_count; work->mapped_ends_seen++)
		end_part(watch, &recording->mapped_ends[work->mapped_ends_seen]);
}
