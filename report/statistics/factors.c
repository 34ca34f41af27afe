/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with few samples are pooled; a pool that is still too small joins the group with the
 * fewest samples.
 */
#include "report/statistics/factors.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

/*
 * A group that should have had TH_SAMPLES_PER_FACTOR samples and was passed over still gets a
 * factor with at least this many.
 */
#define SAMPLES_AT_LEAST 5

/* Halvings of the range of lambda: more than a double resolves. */
#define HALVINGS 100

/* Threads that share their factors. */
struct group {
	uint64_t samples;
	struct th_sums *sums; /* by class */
	double lambda;
	double bytes;
};

/* The first group is the pool. */
struct groups {
	const struct th_factors *factors;
	struct group *items;
	uint32_t count;
	uint32_t *of;         /* by thread */
	struct th_sums *sums; /* by group, then class */
};

/* Classes */

/* Numbers the powers of two of the intervals that occur. Mappings are counted without regard to them. */
static void
number_intervals(struct th_weight_classes *classes, const struct th_recording *recording,
	const struct th_samples *samples)
{
	uint32_t numbers[65] = {0};
	uint32_t count = 0;

	for (size_t i = 0; i < samples->items_count; i++) {
		uint64_t interval = recording->intervals[samples->items[i].interval];

		numbers[interval ? 64 - __builtin_clzll(interval) : 0] = 1;
	}
	for (unsigned i = 0; i < 65; i++) {
		uint32_t number = count < TH_INTERVAL_CLASSES ? count : count - 1;

		count = numbers[i] ? number + 1 : count;
		numbers[i] = number;
	}
	classes->intervals = count ? count : 1;
	for (size_t i = 0; i < recording->intervals_count; i++) {
		uint64_t interval = recording->intervals[i];
		uint32_t number = numbers[interval ? 64 - __builtin_clzll(interval) : 0];

		classes->of[i] = number < classes->intervals ? number : classes->intervals - 1;
	}
}

void
th_weight_classes_init(struct th_weight_classes *classes, const struct th_recording *recording,
	enum th_heap heap)
{
	const struct th_samples *samples = th_recording_allocations(recording, heap);
	uint32_t keeps = 1;
	double gaps = 0;

	*classes = (struct th_weight_classes){.intervals = 1,
		.of = th_allocate(recording->intervals_count + 1, sizeof(*classes->of))};
	if (heap != TH_HEAP_MAPPED && recording->intervals_count > 1)
		number_intervals(classes, recording, samples);
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		uint32_t class = th_keep_class(sample);

		keeps = class >= keeps ? class + 1 : keeps;
		gaps += (double)th_recording_sample_interval(recording, sample) /
			(double)sample->keep;
	}
	classes->count = classes->intervals * keeps;
	classes->gap = samples->items_count ? gaps / (double)samples->items_count
					    : (double)th_recording_interval(recording);
}

void
th_weight_classes_deinit(struct th_weight_classes *classes)
{
	free(classes->of);
	classes->of = NULL;
}

/* Factors */

void
th_factors_init(struct th_factors *factors, const struct th_weight_classes *classes,
	size_t thread_count)
{
	size_t cells = thread_count * classes->count;

	*factors = (struct th_factors){
		.classes = classes,
		.threads = th_allocate(thread_count, sizeof(*factors->threads)),
		.thread_count = thread_count,
		.sums = th_allocate(cells, sizeof(*factors->sums)),
		.items = th_allocate(cells, sizeof(*factors->items)),
	};
	for (size_t i = 0; i < cells; i++)
		factors->items[i] = 1;
}

void
th_factors_deinit(struct th_factors *factors)
{
	free(factors->threads);
	free(factors->sums);
	free(factors->items);
}

void
th_factors_add(struct th_factors *factors, size_t thread, const struct th_sample *sample,
	const struct th_sums *sums)
{
	uint32_t class = th_weight_class(factors->classes, sample);

	factors->threads[thread].samples++;
	th_sums_merge(&factors->sums[thread * factors->classes->count + class], sums);
}

/* Groups */

static void
assign(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;

	groups->count = 1;
	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct th_factor_thread *thread = &factors->threads[i];

		if (!thread->is_unknown && thread->samples >= TH_SAMPLES_PER_FACTOR)
			groups->of[i] = groups->count++;
	}
}

static void
merge(const struct groups *groups, struct group *to, uint64_t samples, double bytes,
	const struct th_sums *sums)
{
	to->samples += samples;
	to->bytes += bytes;
	for (uint32_t i = 0; i < groups->factors->classes->count; i++)
		th_sums_merge(&to->sums[i], &sums[i]);
}

static void
sum_up(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;
	uint32_t classes = factors->classes->count;

	for (uint32_t i = 0; i < groups->count; i++)
		groups->items[i].sums = &groups->sums[(size_t)i * classes];
	groups->items[0].bytes = factors->others;
	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct th_factor_thread *thread = &factors->threads[i];

		if (!thread->is_unknown)
			merge(groups, &groups->items[groups->of[i]], thread->samples,
				thread->bytes, &factors->sums[i * classes]);
	}
}

/*
 * Whether the bytes correspond to at least TH_SAMPLES_PER_FACTOR samples. A group of that size
 * with far fewer shows that the sampler missed its threads (HotSpot before 25 misses short
 * threads): samples of other threads must not compensate for its bytes.
 */
static bool
is_large(const struct groups *groups, const struct group *group)
{
	return group->bytes >= TH_SAMPLES_PER_FACTOR * groups->factors->classes->gap;
}

/* A pool too small for its own factors shares those of the group with the fewest samples. */
static void
settle_pool(struct groups *groups)
{
	struct group *pool = &groups->items[0];
	uint32_t best = 0;

	if (pool->samples >= TH_SAMPLES_PER_FACTOR || is_large(groups, pool))
		return;
	for (uint32_t i = 1; i < groups->count; i++)
		if (!best || groups->items[i].samples < groups->items[best].samples)
			best = i;
	if (!best)
		return;
	merge(groups, &groups->items[best], pool->samples, pool->bytes, pool->sums);
	for (size_t i = 0; i < groups->factors->thread_count; i++)
		if (!groups->of[i])
			groups->of[i] = best;
}

/* The factor of samples of this weight. */
static double
factor_at(double lambda, double weight)
{
	double x = lambda * weight;

	return x >= 0 ? 1 + x : 1 / (1 - x);
}

static double
weight_of(const struct th_sums *sums)
{
	return sums->unseen > 0 ? sums->variance / sums->unseen : 0;
}

static double
scaled(const struct group *group, uint32_t classes, double lambda)
{
	double sum = 0;

	for (uint32_t i = 0; i < classes; i++)
		sum += group->sums[i].unseen * factor_at(lambda, weight_of(&group->sums[i]));
	return sum;
}

/* The lambda that makes the unseen part `unseen`, less than it is: by bisection. */
static double
lower(const struct group *group, uint32_t classes, const struct th_sums *all, double unseen)
{
	double low = -1 / weight_of(all);
	double high = 0;

	while (scaled(group, classes, low) > unseen && low > -HUGE_VAL)
		low *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (scaled(group, classes, middle) > unseen)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static double
lambda_of(const struct group *group, uint32_t classes)
{
	struct th_sums all = {0};

	for (uint32_t i = 0; i < classes; i++)
		th_sums_merge(&all, &group->sums[i]);
	double unseen = group->bytes - all.seen;

	if (group->samples < SAMPLES_AT_LEAST || all.unseen <= 0 || unseen <= 0)
		return 0;
	if (unseen >= all.unseen)
		return (unseen - all.unseen) / all.variance;
	return lower(group, classes, &all, unseen);
}

/* Samples of one class have one weight, that of all of the group. */
static void
set_factors(struct groups *groups, struct th_factors *factors)
{
	uint32_t classes = factors->classes->count;

	for (uint32_t i = 0; i < groups->count; i++)
		groups->items[i].lambda = lambda_of(&groups->items[i], classes);
	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct group *group = &groups->items[groups->of[i]];

		for (uint32_t k = 0; k < classes && !factors->threads[i].is_unknown; k++)
			factors->items[i * classes + k] = factor_at(
				group->lambda, weight_of(&group->sums[k]));
	}
}

void
th_factors_find(struct th_factors *factors)
{
	struct groups groups = {.factors = factors,
		.of = th_allocate(factors->thread_count, sizeof(*groups.of))};

	assign(&groups);
	groups.items = th_allocate(groups.count, sizeof(*groups.items));
	groups.sums = th_allocate(
		groups.count, factors->classes->count * sizeof(*groups.sums));
	sum_up(&groups);
	settle_pool(&groups);
	set_factors(&groups, factors);
	free(groups.items);
	free(groups.sums);
	free(groups.of);
}
