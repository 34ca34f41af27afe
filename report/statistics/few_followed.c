/* SPDX-License-Identifier: Apache-2.0 */
#include "report/statistics/few_followed.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"

/* A site with fewer judged objects has no ratio of its own. */
#define JUDGED_AT_LEAST 5
/* Objects below 64 KiB are pooled whatever their size. */
#define POOLED_BITS 16

bool
th_few_followed_apply(const struct th_recording *recording)
{
	return recording->jvm.features & TH_JVM_FOLLOWS_FEW;
}

/* Start of the last collection; 0 = there was none. */
static uint64_t
last_start(const struct th_recording *recording)
{
	uint64_t last = 0;

	for (size_t i = 0; i < recording->collections_count; i++)
		if (recording->collections[i].start > last)
			last = recording->collections[i].start;
	return last;
}

/* The weight of a sample that is observed with probability `keep`. */
static double
bytes_of(const struct th_recording *recording, const struct th_sample *sample, double keep)
{
	return th_estimator_weight(sample->size,
		th_recording_sample_interval(recording, sample), (double)sample->keep * keep,
		1);
}

/*
 * Enters what is known: the objects that a collection has judged, and those younger than the last one,
 * which count as alive.
 */
static void
find_followed(struct th_lifetimes *lifetimes, uint64_t young)
{
	const struct th_recording *recording = lifetimes->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];

	for (size_t i = 0; i < recording->followed_count; i++) {
		const struct th_followed_info *info = &recording->followed[i];
		size_t index = th_samples_find(samples, info->record, i);

		if (index != SIZE_MAX && info->is_judged)
			lifetimes->followed[index] = info->keep;
	}
	for (size_t i = 0; i < samples->items_count; i++) {
		if (samples->items[i].time >= young)
			lifetimes->followed[i] = 1;
		if (lifetimes->followed[i] > 0)
			lifetimes->ends[TH_HEAP_JAVA][i] = TH_END_NEVER;
	}
}

/*
 * Objects of one site, or those of like size of all sites with too few judged objects.  Small ones
 * compete for places among the followed objects with small ones, large ones with large ones: a
 * site of large arrays that has none must not raise the weights of small objects.
 */
struct few_group {
	double older;  /* bytes of samples from before the last collection */
	double judged; /* bytes that the judged ones of them represent */
	uint32_t members;
};

struct few_groups {
	struct th_id_map sites; /* stack and class -> number */
	TH_ARRAY(struct few_group, groups);
	struct few_group pools[65 - POOLED_BITS]; /* of the sites with too few, by pool_of() */
};

static uint32_t
group_of(struct few_groups *few, const struct th_sample *sample)
{
	bool added;
	uint32_t number = th_id_map_intern(
		&few->sites, (uint64_t)sample->class << 32 | sample->stack, &added);

	if (added)
		th_array_append(few, groups, ((struct few_group){0}));
	return number;
}

static void
sum_followed(struct th_lifetimes *lifetimes, uint64_t young, struct few_groups *few)
{
	const struct th_recording *recording = lifetimes->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];
	double all = 0, themselves = 0;

	lifetimes->followed_part = 1;
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		double followed = (double)lifetimes->followed[i];
		double bytes = bytes_of(recording, sample, 1);

		if (sample->time >= young)
			continue;
		all += bytes;
		themselves += followed > 0 ? bytes : 0;
		uint32_t number = group_of(few, sample); /* may move the groups */
		struct few_group *group = &few->groups[number];
		group->older += bytes;
		group->judged += followed > 0 ? bytes_of(recording, sample, followed) : 0;
		group->members += followed > 0;
	}
	/* Without any it is less than one in all samples. */
	if (all > 0)
		lifetimes->followed_part = themselves > 0
						   ? themselves / all
						   : 1 / (1 + (double)samples->items_count);
}

/* All small sizes together, then each doubling. */
static struct few_group *
pool_of(struct few_groups *few, const struct th_sample *sample)
{
	uint64_t above = sample->size >> POOLED_BITS;

	return &few->pools[above ? 64 - __builtin_clzll(above) : 0];
}

static void
sum_pools(const struct th_lifetimes *lifetimes, uint64_t young, struct few_groups *few)
{
	const struct th_recording *recording = lifetimes->recording;
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		double followed = (double)lifetimes->followed[i];

		if (sample->time >= young ||
			few->groups[group_of(few, sample)].members >= JUDGED_AT_LEAST)
			continue;
		struct few_group *pool = pool_of(few, sample);
		pool->older += bytes_of(recording, sample, 1);
		pool->judged += followed > 0 ? bytes_of(recording, sample, followed) : 0;
	}
}

/* Scales the weights of judged objects so that they represent all objects to be judged. */
static void
scale_followed(struct th_lifetimes *lifetimes, uint64_t young, struct few_groups *few)
{
	const struct th_samples *samples = &lifetimes->recording->samples[TH_HEAP_JAVA];

	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (!(lifetimes->followed[i] > 0) || sample->time >= young)
			continue;
		const struct few_group *group = &few->groups[group_of(few, sample)];
		if (group->members < JUDGED_AT_LEAST)
			group = pool_of(few, sample);
		lifetimes->followed[i] *= (float)(group->judged / group->older);
	}
}

static void
find_followed_parts(struct th_lifetimes *lifetimes, uint64_t young)
{
	struct few_groups few = {0};

	sum_followed(lifetimes, young, &few);
	for (size_t i = 0; i < few.groups_count; i++) {
		lifetimes->older_bytes += few.groups[i].older;
		lifetimes->judged_bytes += few.groups[i].judged;
	}
	sum_pools(lifetimes, young, &few);
	scale_followed(lifetimes, young, &few);
	th_id_map_deinit(&few.sites);
	free(few.groups);
}

void
th_few_followed_find(struct th_lifetimes *lifetimes)
{
	const struct th_recording *recording = lifetimes->recording;
	uint64_t young = last_start(recording);
	size_t count = recording->samples[TH_HEAP_JAVA].items_count;

	if (!th_few_followed_apply(recording) || !count)
		return;
	lifetimes->followed_count = count;
	lifetimes->followed = th_allocate(count, sizeof(float));
	find_followed(lifetimes, young);
	find_followed_parts(lifetimes, young);
}
