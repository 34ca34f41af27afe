/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap whose every byte is known: threads that allocate at sites and run the sampler as
 * malloc does, block by block, each with its own countdown.
 */
#ifndef TH_TESTS_SIMULATED_HEAP_H
#define TH_TESTS_SIMULATED_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "report/statistics/estimate.h"
#include "unify/sample/poisson.h"

#define SIMULATED_SITES_MAX 16
#define SIMULATED_THREADS_MAX 8

struct simulated_sample {
	uint64_t size;
	uint64_t interval; /* in force when the countdown was drawn */
	double keep;
	uint64_t thread_bytes; /* of the thread, this block included */
	unsigned thread;
	unsigned site;
};

struct simulated_thread {
	struct th_random random;
	int64_t countdown;
	uint64_t drawn_interval;
	uint64_t bytes; /* exact */
};

struct simulated_site {
	uint64_t bytes; /* exact */
	uint64_t objects;
	uint64_t due; /* samples, kept or not */
	double keep;  /* of its samples; the test may change it at any time */
};

struct simulated_heap {
	struct simulated_thread threads[SIMULATED_THREADS_MAX];
	struct simulated_site sites[SIMULATED_SITES_MAX];
	uint64_t interval; /* for the next draws; the test may change it at any time */
	double keep;       /* likewise; of the samples of all sites */
	struct simulated_sample *samples;
	size_t sample_count;
	size_t sample_capacity;
};

/* Empty, every thread with a first countdown; every `keep` is 1. */
void simulated_heap_init(struct simulated_heap *heap, uint64_t seed, uint64_t interval);
void simulated_heap_deinit(struct simulated_heap *heap);

void
simulated_allocate(struct simulated_heap *heap, unsigned thread, unsigned site, uint64_t size);

/*
 * The samples of one site (of all if `site` is SIMULATED_SITES_MAX) on one thread (likewise),
 * each with the factor of its thread; `factors` NULL: 1.
 */
struct th_estimator simulated_sum(const struct simulated_heap *heap, unsigned site,
	unsigned thread, const double *factors);

/* The thin gap of all samples, th_mean_interval_thin(); without any the interval. */
double simulated_gap(const struct simulated_heap *heap);

/* All bytes that were allocated. */
double simulated_bytes(const struct simulated_heap *heap);

#endif
