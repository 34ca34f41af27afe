/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/factors.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

void
th_weight_classes_init(struct th_weight_classes *classes, const struct th_recording *recording,
	enum th_heap heap)
{
	const struct th_samples *samples = th_recording_allocations(recording, heap);
	bool occurs[TH_WEIGHT_EXPONENTS] = {false};

	*classes = (struct th_weight_classes){
		.intervals = th_allocate(recording->intervals_count + 1, 1)};
	for (size_t i = 0; i < recording->intervals_count; i++) {
		uint64_t interval = recording->intervals[i];

		classes->intervals[i] = interval ? (uint8_t)(64 - __builtin_clzll(interval))
						 : 0;
	}
	for (size_t i = 0; i < samples->items_count; i++)
		occurs[th_weight_class_exponent(classes, &samples->items[i])] = true;
	for (unsigned i = 0; i < TH_WEIGHT_EXPONENTS; i++)
		classes->numbers[i] = occurs[i] ? (uint8_t)classes->count++ : 0;
	classes->count = classes->count ? classes->count : 1;
}

void
th_weight_classes_deinit(struct th_weight_classes *classes)
{
	free(classes->intervals);
	classes->intervals = NULL;
}

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
	double bytes;
	double lambda;
	struct th_sums all;
};

/* Threads with few samples are in the first group, the pool. */
enum { POOL };

struct groups {
	const struct th_factors *factors;
	struct group *items;
	struct th_sums *sums; /* by group, then class */
	uint32_t count;
	uint32_t *of; /* by thread */
};

void
th_factors_init(struct th_factors *factors, uint32_t classes, size_t thread_count)
{
	*factors = (struct th_factors){
		.classes = classes,
		.thread_count = thread_count,
		.threads = th_allocate(thread_count, sizeof(*factors->threads)),
		.parts = th_allocate(thread_count, classes * sizeof(*factors->parts)),
	};
	for (size_t i = 0; i < thread_count * classes; i++)
		factors->parts[i].factor = 1;
}

void
th_factors_deinit(struct th_factors *factors)
{
	free(factors->threads);
	free(factors->parts);
}

void
th_factors_add(
	struct th_factors *factors, size_t thread, uint32_t class, const struct th_sums *sums)
{
	factors->threads[thread].samples++;
	th_sums_merge(&factors->parts[thread * factors->classes + class].sums, sums);
}

static void
assign(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;

	groups->count = POOL + 1;
	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct th_factor_thread *thread = &factors->threads[i];
		bool is_enough = thread->samples >= TH_SAMPLES_PER_FACTOR;

		groups->of[i] = !thread->is_unknown && is_enough ? groups->count++ : POOL;
	}
}

static void
sum_up(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;

	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct th_factor_thread *thread = &factors->threads[i];
		struct group *group = &groups->items[groups->of[i]];

		if (thread->is_unknown)
			continue;
		group->samples += thread->samples;
		group->bytes += thread->bytes;
		for (uint32_t k = 0; k < factors->classes; k++) {
			const struct th_sums *sums =
				&factors->parts[i * factors->classes + k].sums;

			th_sums_merge(&group->all, sums);
			th_sums_merge(
				&groups->sums[groups->of[i] * factors->classes + k], sums);
		}
	}
}

/*
 * A pool too small for its own factor shares that of the group with the fewest samples. But with
 * bytes of at least TH_SAMPLES_PER_FACTOR samples it shows that the sampler missed its threads
 * (HotSpot before 25 misses short threads): samples of others must not compensate for its bytes.
 */
static void
join_pool(struct groups *groups, double gap)
{
	uint32_t classes = groups->factors->classes;
	struct group *pool = &groups->items[POOL];
	uint32_t least = POOL + 1;

	if (groups->count == POOL + 1 || pool->samples >= TH_SAMPLES_PER_FACTOR ||
		pool->bytes >= TH_SAMPLES_PER_FACTOR * gap)
		return;
	for (uint32_t i = least + 1; i < groups->count; i++)
		least = groups->items[i].samples < groups->items[least].samples ? i : least;
	struct group *group = &groups->items[least];
	group->samples += pool->samples;
	group->bytes += pool->bytes;
	th_sums_merge(&group->all, &pool->all);
	for (uint32_t k = 0; k < classes; k++)
		th_sums_merge(&groups->sums[least * classes + k], &groups->sums[k]);
	for (size_t i = 0; i < groups->factors->thread_count; i++)
		groups->of[i] = groups->of[i] == POOL ? least : groups->of[i];
}

static double
weight_of(const struct th_sums *sums)
{
	return sums->unseen > 0 ? sums->variance / sums->unseen : 0;
}

/* The factor of samples of this weight. */
static double
factor_at(double lambda, const struct th_sums *sums)
{
	double x = lambda * weight_of(sums);

	return x >= 0 ? 1 + x : 1 / (1 - x);
}

static double
scaled(const struct th_sums *sums, uint32_t classes, double lambda)
{
	double sum = 0;

	for (uint32_t i = 0; i < classes; i++)
		sum += sums[i].unseen * factor_at(lambda, &sums[i]);
	return sum;
}

/* The lambda that makes the unseen part `unseen`, less than it is: by bisection. */
static double
lower(const struct group *group, const struct th_sums *sums, uint32_t classes, double unseen)
{
	double low = -1 / weight_of(&group->all);
	double high = 0;

	while (scaled(sums, classes, low) > unseen && low > -HUGE_VAL)
		low *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (scaled(sums, classes, middle) > unseen)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static double
lambda_of(const struct group *group, const struct th_sums *sums, uint32_t classes)
{
	double unseen = group->bytes - group->all.seen;

	if (group->samples < SAMPLES_AT_LEAST || group->all.unseen <= 0 || unseen <= 0)
		return 0;
	if (unseen >= group->all.unseen)
		return (unseen - group->all.unseen) / group->all.variance;
	return lower(group, sums, classes, unseen);
}

static void
set_factors(const struct groups *groups, struct th_factors *factors)
{
	for (size_t i = 0; i < factors->thread_count; i++) {
		const struct th_sums *sums = &groups->sums[groups->of[i] * factors->classes];
		double lambda = groups->items[groups->of[i]].lambda;

		for (uint32_t k = 0; k < factors->classes && !factors->threads[i].is_unknown;
			k++)
			factors->parts[i * factors->classes + k].factor = factor_at(
				lambda, &sums[k]);
	}
}

void
th_factors_find(struct th_factors *factors, double gap)
{
	struct groups groups = {.factors = factors,
		.of = th_allocate(factors->thread_count, sizeof(*groups.of))};

	assign(&groups);
	groups.items = th_allocate(groups.count, sizeof(*groups.items));
	groups.sums = th_allocate(groups.count, factors->classes * sizeof(*groups.sums));
	sum_up(&groups);
	join_pool(&groups, gap);
	for (uint32_t i = 0; i < groups.count; i++)
		groups.items[i].lambda = lambda_of(
			&groups.items[i], &groups.sums[i * factors->classes], factors->classes);
	set_factors(&groups, factors);
	free(groups.items);
	free(groups.sums);
	free(groups.of);
}
