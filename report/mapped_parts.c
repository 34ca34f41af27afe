/* SPDX-License-Identifier: Apache-2.0 */
#include "report/mapped_parts.h"

#include <stdlib.h>

#include "report/allocate.h"
#include "report/recording_events.h"

/* exp(-40) is below half a unit in the last place of 1: such a sample was certain. */
#define CERTAIN_INTERVALS 40

struct splitter {
	struct th_recording *recording;
	struct th_samples parts;
	size_t next_end; /* of `mapped_ends`, which are sorted by sample and time */
	TH_ARRAY(uint64_t, ends);
};

static int
compare_ends(const void *a, const void *b)
{
	const struct th_mapped_end_info *left = a;
	const struct th_mapped_end_info *right = b;

	if (left->record != right->record)
		return left->record < right->record ? -1 : 1;
	return (left->time > right->time) - (left->time < right->time);
}

/* The interval at which a part is as probable as the whole. */
static uint32_t
interval_of_part(struct splitter *splitter, const struct th_sample *whole, uint64_t bytes)
{
	uint64_t interval = th_recording_sample_interval(splitter->recording, whole);
	double scaled = (double)interval * (double)bytes / (double)whole->size;

	if (!interval || whole->size / interval >= CERTAIN_INTERVALS)
		return th_recording_intern_interval(splitter->recording, 0);
	return th_recording_intern_interval(
		splitter->recording, scaled < 1 ? 1 : (uint64_t)(scaled + 0.5));
}

/* Parts come by time: the longest lasting one is the last. */
static void
add_part(struct splitter *splitter, const struct th_sample *whole, uint64_t bytes, uint64_t end,
	bool is_last)
{
	struct th_sample part = *whole;
	uint32_t interval = whole->interval;

	if (bytes < whole->size)
		interval = interval_of_part(splitter, whole, bytes);
	part.size = bytes;
	part.interval = interval & 0x7fffff;
	part.is_part = !is_last;
	th_array_append(&splitter->parts, items, part);
	th_array_append(splitter, ends, end);
}

static void
split(struct splitter *splitter, const struct th_sample *whole)
{
	const struct th_recording *recording = splitter->recording;
	uint64_t left = whole->size;

	for (; splitter->next_end < recording->mapped_ends_count; splitter->next_end++) {
		const struct th_mapped_end_info *end =
			&recording->mapped_ends[splitter->next_end];
		uint64_t bytes = end->bytes < left ? end->bytes : left;

		if (end->record > whole->record)
			break;
		if (end->record < whole->record || !bytes)
			continue;
		left -= bytes;
		add_part(splitter, whole, bytes,
			end->time > whole->time ? end->time : whole->time, !left);
	}
	if (left)
		add_part(splitter, whole, left, UINT64_MAX, true);
}

void
th_mapped_parts_split(struct th_recording *recording)
{
	struct splitter splitter = {.recording = recording};
	struct th_samples *samples = &recording->samples[TH_HEAP_MAPPED];

	if (recording->mapped_ends_count)
		qsort(recording->mapped_ends, recording->mapped_ends_count,
			sizeof(*recording->mapped_ends), compare_ends);
	for (size_t i = 0; i < recording->mappings.items_count; i++)
		split(&splitter, &recording->mappings.items[i]);
	free(samples->items);
	free(recording->part_ends);
	*samples = splitter.parts;
	recording->part_ends = splitter.ends;
}
