/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/strata.h"

#include <math.h>
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

/* Factors */

/*
 * Cells with few samples are pooled, one pool for each stratum; a pool that is still too small
 * joins its nearest neighbor.
 */

/*
 * A group that should have had TH_SAMPLES_PER_FACTOR samples and was passed over still gets a
 * factor with at least this many.
 */
#define SAMPLES_AT_LEAST 5

/* Halvings of the range of lambda: more than a double resolves. */
#define HALVINGS 100

/* Cells that share their factors. */
struct group {
	uint64_t samples;
	struct th_sums sums[TH_KEEP_CLASSES];
	double lambda;
	double bytes;
	uint32_t stratum; /* of the first cell */
	uint32_t joined;  /* the group that it is part of; itself: none */
};

/* The first groups are the pools, by stratum. */
struct groups {
	const struct th_factors *factors;
	struct group *items;
	uint32_t count;
	uint32_t *of; /* by cell */
};

void
th_factors_init(struct th_factors *factors, const struct th_strata *strata, size_t thread_count)
{
	*factors = (struct th_factors){
		.strata = strata,
		.cell_count = thread_count * strata->count,
		.cells = th_allocate(thread_count, strata->count * sizeof(*factors->cells)),
		.parts = th_allocate(
			thread_count, strata->count * strata->keeps * sizeof(*factors->parts)),
		.is_unknown = th_allocate(thread_count, sizeof(bool)),
		.others = th_allocate(strata->count, sizeof(double)),
	};
	for (size_t i = 0; i < factors->cell_count * strata->keeps; i++)
		factors->parts[i].factor = 1;
}

void
th_factors_deinit(struct th_factors *factors)
{
	free(factors->cells);
	free(factors->parts);
	free(factors->is_unknown);
	free(factors->others);
}

void
th_factors_add(struct th_factors *factors, size_t thread, const struct th_sample *sample,
	const struct th_sums *sums)
{
	const struct th_strata *strata = factors->strata;
	size_t first = thread * strata->count;

	factors->cells[first + th_strata_of(strata, sample)].samples++;
	th_sums_merge(
		&factors->parts[first * strata->keeps + th_strata_part(strata, sample)].sums,
		sums);
}

static bool
is_counted(const struct th_factors *factors, size_t cell)
{
	return !factors->is_unknown[cell / factors->strata->count];
}

static void
assign(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;

	groups->count = factors->strata->count;
	for (size_t i = 0; i < factors->cell_count; i++) {
		bool is_enough = factors->cells[i].samples >= TH_SAMPLES_PER_FACTOR;

		groups->of[i] = is_counted(factors, i) && is_enough
					? groups->count++
					: (uint32_t)(i % factors->strata->count);
	}
}

static void
add_cell(struct group *group, const struct th_factors *factors, size_t cell)
{
	uint32_t keeps = factors->strata->keeps;

	group->samples += factors->cells[cell].samples;
	group->bytes += factors->cells[cell].bytes;
	group->stratum = (uint32_t)(cell % factors->strata->count);
	for (uint32_t i = 0; i < keeps; i++)
		th_sums_merge(&group->sums[i], &factors->parts[cell * keeps + i].sums);
}

static void
sum_up(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;

	for (uint32_t i = 0; i < groups->count; i++)
		groups->items[i] = (struct group){.joined = i, .stratum = i};
	for (uint32_t i = 0; i < factors->strata->count; i++)
		groups->items[i].bytes = factors->others[i];
	for (size_t i = 0; i < factors->cell_count; i++) {
		if (is_counted(factors, i))
			add_cell(&groups->items[groups->of[i]], factors, i);
	}
}

static struct th_sums
all_of(const struct group *group)
{
	struct th_sums all = {0};

	for (uint32_t i = 0; i < TH_KEEP_CLASSES; i++)
		th_sums_merge(&all, &group->sums[i]);
	return all;
}

/* The bytes that the samples of a pool show and its counts lack. */
static double
missing_from(const struct group *pool)
{
	struct th_sums all = all_of(pool);

	return fmax(th_sums_point(&all) - pool->bytes, 0);
}

/*
 * Threads that ended without a sample left a count without a time. They are missing from the
 * counts of the pools, and the samples of their like tell where.
 */
static void
add_untimed(struct groups *groups)
{
	const struct th_factors *factors = groups->factors;
	uint32_t strata = factors->strata->count;
	double missing = 0;

	for (uint32_t i = 0; i < strata; i++)
		missing += missing_from(&groups->items[i]);
	for (uint32_t i = 0; i < strata; i++) {
		double part = missing > 0 ? missing_from(&groups->items[i]) / missing
					  : 1.0 / strata;

		groups->items[i].bytes += factors->untimed * part;
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
	return group->bytes >=
	       TH_SAMPLES_PER_FACTOR * groups->factors->strata->gaps[group->stratum];
}

static bool
is_on_its_own(const struct groups *groups, uint32_t index)
{
	const struct group *group = &groups->items[index];

	return group->joined == index && (group->samples > 0 || group->bytes > 0);
}

/* Whether group `a` is a better neighbor of `of` than `b`. */
static bool
is_nearer(const struct group *of, const struct group *a, const struct group *b)
{
	int64_t distance_a = llabs((int64_t)a->stratum - of->stratum);
	int64_t distance_b = llabs((int64_t)b->stratum - of->stratum);

	if (distance_a != distance_b)
		return distance_a < distance_b;
	return a->samples < b->samples;
}

/* Of the nearest interval, and there with the fewest samples; the group itself: none. */
static uint32_t
neighbor_of(const struct groups *groups, uint32_t index)
{
	uint32_t best = index;

	for (uint32_t i = 0; i < groups->count; i++) {
		if (i == index || !is_on_its_own(groups, i))
			continue;
		if (best == index || is_nearer(&groups->items[index], &groups->items[i],
					     &groups->items[best]))
			best = i;
	}
	return best;
}

/* A pool too small for its own factor shares one with its neighbor. */
static void
settle_pool(struct groups *groups, uint32_t index)
{
	struct group *pool = &groups->items[index];
	uint32_t neighbor;

	if (!is_on_its_own(groups, index) || pool->samples >= TH_SAMPLES_PER_FACTOR ||
		is_large(groups, pool))
		return;
	neighbor = neighbor_of(groups, index);
	if (neighbor == index)
		return;
	for (uint32_t i = 0; i < TH_KEEP_CLASSES; i++)
		th_sums_merge(&groups->items[neighbor].sums[i], &pool->sums[i]);
	groups->items[neighbor].samples += pool->samples;
	groups->items[neighbor].bytes += pool->bytes;
	pool->joined = neighbor;
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
scaled(const struct group *group, double lambda)
{
	double sum = 0;

	for (uint32_t i = 0; i < TH_KEEP_CLASSES; i++)
		sum += group->sums[i].unseen * factor_at(lambda, weight_of(&group->sums[i]));
	return sum;
}

/* The lambda that makes the unseen part `unseen`, less than it is: by bisection. */
static double
lower(const struct group *group, const struct th_sums *all, double unseen)
{
	double low = -1 / weight_of(all);
	double high = 0;

	while (scaled(group, low) > unseen && low > -HUGE_VAL)
		low *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (scaled(group, middle) > unseen)
			high = middle;
		else
			low = middle;
	}
	return low;
}

static double
lambda_of(const struct group *group)
{
	struct th_sums all = all_of(group);
	double unseen = group->bytes - all.seen;

	if (group->samples < SAMPLES_AT_LEAST || all.unseen <= 0 || unseen <= 0)
		return 0;
	if (unseen >= all.unseen)
		return (unseen - all.unseen) / all.variance;
	return lower(group, &all, unseen);
}

static const struct group *
group_of(const struct groups *groups, size_t cell)
{
	uint32_t index = groups->of[cell];

	while (groups->items[index].joined != index)
		index = groups->items[index].joined;
	return &groups->items[index];
}

/* Samples of one class have one weight, that of all of the group. */
static void
set_factors(struct groups *groups, const struct th_factors *factors)
{
	uint32_t keeps = factors->strata->keeps;

	for (size_t i = 0; i < factors->cell_count; i++) {
		const struct group *group = group_of(groups, i);

		if (!is_counted(factors, i))
			continue;
		for (uint32_t k = 0; k < keeps; k++)
			factors->parts[i * keeps + k].factor = factor_at(
				group->lambda, weight_of(&group->sums[k]));
	}
}

void
th_factors_find(struct th_factors *factors)
{
	struct groups groups = {
		.factors = factors, .of = th_allocate(factors->cell_count, sizeof(*groups.of))};

	assign(&groups);
	groups.items = th_allocate(groups.count, sizeof(*groups.items));
	sum_up(&groups);
	add_untimed(&groups);
	for (uint32_t i = 0; i < factors->strata->count; i++)
		settle_pool(&groups, i);
	for (uint32_t i = 0; i < groups.count; i++)
		groups.items[i].lambda = lambda_of(&groups.items[i]);
	set_factors(&groups, factors);
	free(groups.items);
	free(groups.of);
}
