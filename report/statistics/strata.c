/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/strata.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

/* Interval 0, and one class for each power of two. */
#define CLASSES 65

static unsigned
class_of(uint64_t interval)
{
	return interval ? 64 - (unsigned)__builtin_clzll(interval) : 0;
}

static const struct th_samples *
samples_of(const struct th_strata *strata)
{
	return th_recording_allocations(strata->recording, strata->heap);
}

/* Numbers the classes that occur. Bytes of mappings are counted without regard to threads. */
static void
number_classes(struct th_strata *strata)
{
	const struct th_recording *recording = strata->recording;
	const struct th_samples *samples = samples_of(strata);
	uint32_t numbers[CLASSES] = {0};

	strata->count = 1;
	if (strata->heap == TH_HEAP_MAPPED || recording->intervals_count < 2)
		return;
	for (size_t i = 0; i < samples->items_count; i++)
		numbers[class_of(recording->intervals[samples->items[i].interval])] = 1;
	strata->count = 0;
	for (unsigned i = 0; i < CLASSES; i++)
		numbers[i] = numbers[i] ? strata->count++ : 0;
	strata->count = strata->count ? strata->count : 1;
	for (size_t i = 0; i < recording->intervals_count; i++)
		strata->of[i] = numbers[class_of(recording->intervals[i])];
}

/* Bytes that a sample of a small block represents. */
static double
gap_of(const struct th_recording *recording, const struct th_sample *sample)
{
	return (double)th_recording_sample_interval(recording, sample) / (double)sample->keep;
}

static void
find_keeps(struct th_strata *strata)
{
	const struct th_samples *samples = samples_of(strata);

	strata->keeps = 1;
	for (size_t i = 0; i < samples->items_count; i++) {
		uint32_t class = th_strata_keep_class(&samples->items[i]);

		if (class >= strata->keeps)
			strata->keeps = class + 1;
	}
}

static void
find_gaps(struct th_strata *strata)
{
	const struct th_samples *samples = samples_of(strata);
	double *counts = th_allocate(strata->count, sizeof(*counts));

	for (size_t i = 0; i < samples->items_count; i++) {
		uint32_t stratum = th_strata_of(strata, &samples->items[i]);

		strata->gaps[stratum] += gap_of(strata->recording, &samples->items[i]);
		counts[stratum]++;
	}
	for (uint32_t i = 0; i < strata->count; i++)
		strata->gaps[i] = counts[i] > 0
					  ? strata->gaps[i] / counts[i]
					  : (double)th_recording_interval(strata->recording);
	free(counts);
}

void
th_strata_init(
	struct th_strata *strata, const struct th_recording *recording, enum th_heap heap)
{
	*strata = (struct th_strata){.recording = recording,
		.heap = heap,
		.of = th_allocate(recording->intervals_count + 1, sizeof(*strata->of))};
	number_classes(strata);
	find_keeps(strata);
	strata->gaps = th_allocate(strata->count, sizeof(*strata->gaps));
	find_gaps(strata);
}

void
th_strata_deinit(struct th_strata *strata)
{
	free(strata->of);
	free(strata->gaps);
	strata->of = NULL;
	strata->gaps = NULL;
}

uint32_t
th_strata_at(const struct th_strata *strata, uint64_t time)
{
	const struct th_samples *samples = samples_of(strata);
	size_t next;

	if (strata->count < 2)
		return 0;
	next = th_bisect(samples->items_count, i, samples->items[i].time < time);
	if (next == samples->items_count)
		next--;
	return th_strata_of(strata, &samples->items[next]);
}
