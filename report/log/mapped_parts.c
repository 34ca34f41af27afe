/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits mapped samples by their ends (mapped_parts.h): the ends are sorted by sample and time,
 * and each sample is replaced by one piece per end and one for the rest.
 */
#include "report/log/mapped_parts.h"

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/log/events.h"

/* exp(-40) is below half a unit in the last place of 1: the probability is exactly 1. */
#define CERTAIN_INTERVALS 40

struct splitter {
	struct th_recording *recording;
	struct th_samples parts;
	size_t next;              /* of the recording's ends, by sample and time */
	TH_ARRAY(uint64_t, ends); /* of the parts */
};

TH_COMPARE(compare_ends, struct th_mapped_end_info,
	th_order(left->record, right->record) ?: th_order(left->time, right->time))

/* The interval at which a part has the probability of the whole. */
static uint32_t
interval_of_piece(struct th_recording *recording, const struct th_sample *whole, uint64_t bytes)
{
	uint64_t interval = th_recording_sample_interval(recording, whole);
	double scaled = (double)interval * (double)bytes / (double)whole->size;

	if (!interval || whole->size / interval >= CERTAIN_INTERVALS)
		return th_recording_intern_interval(recording, 0);
	return th_recording_intern_interval(
		recording, scaled < 1 ? 1 : (uint64_t)(scaled + 0.5));
}

/* A sample of `bytes` bytes of a mapped sample. */
static struct th_sample
piece_of(struct th_recording *recording, const struct th_sample *whole, uint64_t bytes)
{
	struct th_sample piece = *whole;

	if (bytes == whole->size)
		return piece;
	piece.size = bytes;
	piece.interval = interval_of_piece(recording, whole, bytes) & 0x7fffff;
	return piece;
}

/* Parts are added in order of time, so the longest-lived one is the last. */
static void
add_part(struct splitter *splitter, const struct th_sample *whole, uint64_t bytes, uint64_t end,
	bool is_last)
{
	struct th_sample part = piece_of(splitter->recording, whole, bytes);

	part.is_part = !is_last;
	th_array_append(&splitter->parts, items, part);
	th_array_append(splitter, ends, end);
}

static void
split(struct splitter *splitter, const struct th_sample *whole)
{
	uint64_t left = whole->size;

	for (; splitter->next < splitter->recording->mapped_ends_count; splitter->next++) {
		const struct th_mapped_end_info *end =
			&splitter->recording->mapped_ends[splitter->next];
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

	th_sort(recording->mapped_ends, recording->mapped_ends_count, compare_ends);
	for (size_t i = 0; i < recording->mappings.items_count; i++)
		split(&splitter, &recording->mappings.items[i]);
	recording->samples[TH_HEAP_MAPPED] = splitter.parts;
	recording->part_ends = splitter.ends;
}
