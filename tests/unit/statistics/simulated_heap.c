/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated threads and sites of simulated_heap.h, with the library's own countdown; samples
 * are kept with the probability that the test sets.
 */
#include "tests/unit/statistics/simulated_heap.h"

#include <stdlib.h>

static void
draw(struct simulated_heap *heap, struct simulated_thread *thread)
{
	thread->countdown = th_sampler_draw(&thread->random, heap->interval);
	thread->drawn_interval = heap->interval;
}

void
simulated_heap_init(struct simulated_heap *heap, uint64_t seed, uint64_t interval)
{
	*heap = (struct simulated_heap){.interval = interval, .keep = 1};
	for (unsigned i = 0; i < SIMULATED_THREADS_MAX; i++) {
		th_random_seed(&heap->threads[i].random, seed * SIMULATED_THREADS_MAX + i);
		draw(heap, &heap->threads[i]);
	}
	for (unsigned i = 0; i < SIMULATED_SITES_MAX; i++)
		heap->sites[i].keep = 1;
}

void
simulated_heap_deinit(struct simulated_heap *heap)
{
	free(heap->samples);
}

static struct simulated_sample *
append_sample(struct simulated_heap *heap)
{
	if (heap->sample_count == heap->sample_capacity) {
		heap->sample_capacity = heap->sample_capacity * 2 + 256;
		heap->samples = realloc(
			heap->samples, heap->sample_capacity * sizeof(*heap->samples));
		if (!heap->samples)
			abort();
	}
	return &heap->samples[heap->sample_count++];
}

static void
take_sample(struct simulated_heap *heap, unsigned thread_index, unsigned site, uint64_t size)
{
	struct simulated_thread *thread = &heap->threads[thread_index];
	double keep = heap->keep * heap->sites[site].keep;

	heap->sites[site].due++;
	if (th_random_unit(&thread->random) <= keep)
		*append_sample(heap) = (struct simulated_sample){.size = size,
			.interval = thread->drawn_interval,
			.keep = keep,
			.thread_bytes = thread->bytes,
			.thread = thread_index,
			.site = site};
	draw(heap, thread);
}

void
simulated_allocate(
	struct simulated_heap *heap, unsigned thread_index, unsigned site, uint64_t size)
{
	struct simulated_thread *thread = &heap->threads[thread_index];

	thread->bytes += size;
	heap->sites[site].bytes += size;
	heap->sites[site].objects++;
	thread->countdown -= (int64_t)size;
	if (thread->countdown < 0)
		take_sample(heap, thread_index, site, size);
}

double
simulated_gap(const struct simulated_heap *heap)
{
	struct th_mean_interval gaps = {0};

	for (size_t i = 0; i < heap->sample_count; i++) {
		const struct simulated_sample *sample = &heap->samples[i];

		th_mean_interval_add(
			&gaps, sample->size, sample->interval, sample->keep, sample->keep);
	}
	return heap->sample_count > 0 ? th_mean_interval_thin(&gaps) : (double)heap->interval;
}

struct th_estimator
simulated_sum(const struct simulated_heap *heap, unsigned site, unsigned thread,
	const double *factors)
{
	struct th_estimator sum = {0};

	for (size_t i = 0; i < heap->sample_count; i++) {
		const struct simulated_sample *sample = &heap->samples[i];

		if ((site != SIMULATED_SITES_MAX && sample->site != site) ||
			(thread != SIMULATED_THREADS_MAX && sample->thread != thread))
			continue;
		th_estimator_add(&sum, sample->size, sample->interval, sample->keep,
			factors != NULL ? factors[sample->thread] : 1);
	}
	return sum;
}

double
simulated_bytes(const struct simulated_heap *heap)
{
	double bytes = 0;

	for (unsigned i = 0; i < SIMULATED_THREADS_MAX; i++)
		bytes += (double)heap->threads[i].bytes;
	return bytes;
}
