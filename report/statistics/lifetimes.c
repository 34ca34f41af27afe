/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lifetimes of samples (lifetimes.h): the events of a recording give an end per sample, the reports
 * of collections give the judgements, and the peak is found by passing births and ends in order of
 * time.
 */
#include "report/statistics/lifetimes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/id_map.h"
#include "report/base/sort.h"
#include "report/statistics/forced_collection.h"
#include "unify/shared/collector_name.h"
#include "unify/shared/bisect.h"

/*
 * Pauses of one cycle of a concurrent collector: the VM reports each separately (Z: start of
 * marking, end of marking, start of relocation; generational Z: up to eight), and what the last
 * one clears was dead at the first.
 */
#define CONCURRENT_PAUSES 3
#define GENERATIONAL_Z_PAUSES 8
/* A site with fewer judged objects has no ratio of its own. */
#define JUDGED_AT_LEAST 5
/*
 * The judged objects of a site with fewer represent at most so much of its bytes: the pool is to
 * represent sites without any as well, but a small site must not take the place of a large one.
 */
#define REPRESENTED_MAX 1.5
/* Objects below 64 KiB are pooled whatever their size. */
#define POOLED_BITS 16

/*
 * Collectors under which only a few of the sampled Java objects are followed until they die: the
 * weights of those that a collection has judged are scaled to represent all (docs/statistics.md,
 * few followed objects).
 */

/* Whether only objects with a JAVA_FOLLOWED have a known end. */
static bool
follows_few(const struct th_recording *recording)
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
		const struct th_decoded_java_followed *info = &recording->followed[i];
		size_t index = th_samples_find(samples, (uint32_t)info->sample);

		if (index != SIZE_MAX && info->judged)
			lifetimes->followed[index] = (float)info->keep;
	}
	for (size_t i = 0; i < samples->items_count; i++) {
		if (samples->items[i].time >= young)
			lifetimes->followed[i] = 1;
		if (lifetimes->followed[i] > 0)
			lifetimes->ends[TH_HEAP_JAVA][i] = TH_END_NEVER;
	}
}

/*
 * Objects of one site and of like size.  Small ones compete for places among the followed objects with
 * small ones, large ones with large ones: a site of large arrays that has none must not raise the weights
 * of small objects.
 */
struct few_group {
	double older;  /* bytes of samples from before the last collection */
	double judged; /* bytes that the judged ones of them represent */
	uint32_t members;
	uint32_t pool;
	double represents; /* bytes, after scaling; 0: it is scaled with its pool */
};

/* Of the groups that are scaled with it: what is left for them to represent, and what they do so far. */
struct few_pool {
	double older, judged;
};

struct few_groups {
	struct th_id_map sites;   /* stack and class -> number */
	struct th_id_map numbers; /* of a site and pool -> index in `groups` */
	TH_ARRAY(struct few_group, groups);
	struct few_pool pools[65 - POOLED_BITS];
};

/* All small sizes together, then each doubling. */
static uint32_t
pool_of(const struct th_sample *sample)
{
	uint64_t above = sample->size >> POOLED_BITS;

	return above ? 64 - (uint32_t)__builtin_clzll(above) : 0;
}

/* Valid until the next call. */
static struct few_group *
group_of(struct few_groups *few, const struct th_sample *sample)
{
	uint32_t site = th_id_map_intern(
		&few->sites, (uint64_t)sample->class << 32 | sample->stack, NULL);
	uint32_t pool = pool_of(sample);
	uint32_t number = th_id_map_enter(&few->numbers, (uint64_t)site << 8 | pool, few,
		groups, ((struct few_group){.pool = pool}));

	return &few->groups[number];
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
		double bytes = th_sample_bytes(recording, sample, 1);

		if (sample->time >= young)
			continue;
		all += bytes;
		themselves += followed > 0 ? bytes : 0;
		struct few_group *group = group_of(few, sample);
		group->older += bytes;
		group->judged += followed > 0 ? th_sample_bytes(recording, sample, followed)
					      : 0;
		group->members += followed > 0;
		group->represents = group->members >= JUDGED_AT_LEAST ? group->older : 0;
	}
	lifetimes->is_unjudged = all > 0 && themselves <= 0;
	/* Without any it is less than one in all samples. */
	if (all > 0)
		lifetimes->followed_part = themselves > 0
						   ? themselves / all
						   : 1 / (1 + (double)samples->items_count);
}

static void
sum_pools(struct few_groups *few)
{
	memset(few->pools, 0, sizeof(few->pools));
	for (size_t i = 0; i < few->groups_count; i++) {
		const struct few_group *group = &few->groups[i];

		few->pools[group->pool].older += group->older - group->represents;
		few->pools[group->pool].judged += group->represents ? 0 : group->judged;
	}
}

/* Limits groups that would represent too much: false: there was none. */
static bool
cut_groups(struct few_groups *few)
{
	bool is_any = false;

	for (size_t i = 0; i < few->groups_count; i++) {
		struct few_group *group = &few->groups[i];
		const struct few_pool *pool = &few->pools[group->pool];
		double most = REPRESENTED_MAX * group->older;

		if (group->represents || group->judged * pool->older <= most * pool->judged)
			continue;
		group->represents = most;
		is_any = true;
	}
	return is_any;
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
		const struct few_group *group = group_of(few, sample);
		const struct few_pool *pool = &few->pools[group->pool];
		lifetimes->followed[i] *= (float)(group->represents
							  ? group->judged / group->represents
							  : pool->judged / pool->older);
	}
}

/* Fills `followed` and the sums beside it, and sets the ends of the objects that are followed or unknown. */
static void
find_few_followed(struct th_lifetimes *lifetimes)
{
	const struct th_recording *recording = lifetimes->recording;
	uint64_t young = last_start(recording);
	size_t count = recording->samples[TH_HEAP_JAVA].items_count;
	struct few_groups few = {0};

	if (!follows_few(recording) || !count)
		return;
	lifetimes->followed = th_allocate(count, sizeof(float));
	find_followed(lifetimes, young);
	sum_followed(lifetimes, young, &few);
	do
		sum_pools(&few);
	while (cut_groups(&few));
	scale_followed(lifetimes, young, &few);
	th_id_map_deinit(&few.sites);
	th_id_map_deinit(&few.numbers);
	free(few.groups);
}

/* Ends */

/* The native bit has the same value for mapped samples. */
static_assert((int)TH_NATIVE_TRACKED == (int)TH_MAPPED_TRACKED, "one test for both heaps");

/* The end before any event is applied. */
static uint64_t
first_end(const struct th_recording *recording, enum th_heap heap, size_t index)
{
	/* Whether the library records the end of this sample, losses aside. */
	bool is_tracked = heap == TH_HEAP_JAVA ? !follows_few(recording)
					       : recording->samples[heap].items[index].flags &
							 TH_NATIVE_TRACKED;

	if (!is_tracked)
		return TH_END_UNKNOWN;
	/* Mapped parts have their ends already. */
	return heap == TH_HEAP_MAPPED ? recording->part_ends[index] : TH_END_NEVER;
}

static void
begin_ends(struct th_lifetimes *lifetimes, enum th_heap heap)
{
	const struct th_recording *recording = lifetimes->recording;
	size_t count = recording->samples[heap].items_count;

	lifetimes->ends[heap] = th_allocate(count, sizeof(uint64_t));
	for (size_t i = 0; i < count; i++)
		lifetimes->ends[heap][i] = first_end(recording, heap, i);
}

/*
 * Native blocks that were freed, or Java objects found dead.  `frees`: of native blocks, which of
 * them followed a collection; else NULL.
 */
static void
end_samples(struct th_lifetimes *lifetimes, enum th_heap heap, const struct th_free_info *infos,
	size_t count, const struct th_reference_frees *frees)
{
	const struct th_samples *samples = &lifetimes->recording->samples[heap];
	uint64_t *ends = lifetimes->ends[heap];

	for (size_t i = 0; i < count; i++) {
		size_t index = th_samples_find(samples, infos[i].record);

		if (index == SIZE_MAX || ends[index] != TH_END_NEVER)
			continue;
		/* An end is never before the birth, even if the clocks of the threads disagree. */
		uint64_t birth = samples->items[index].time;
		ends[index] = infos[i].time > birth ? infos[i].time : birth;
		if (frees)
			lifetimes->is_collected[index] = th_reference_frees_has(
				frees, &infos[i]);
	}
}

/* Objects that are no longer followed. */
static void
forget_lost(struct th_lifetimes *lifetimes)
{
	const struct th_recording *recording = lifetimes->recording;

	for (size_t i = 0; i < recording->losses_count; i++) {
		size_t index = th_samples_find(&recording->samples[TH_HEAP_JAVA],
			(uint32_t)recording->losses[i].sample);

		if (index != SIZE_MAX)
			lifetimes->ends[TH_HEAP_JAVA][index] = TH_END_UNKNOWN;
	}
}

static void
find_ends(struct th_lifetimes *lifetimes)
{
	const struct th_recording *recording = lifetimes->recording;
	struct th_reference_frees frees;

	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		begin_ends(lifetimes, (enum th_heap)heap);
	find_few_followed(lifetimes);
	lifetimes->is_collected = th_allocate(recording->samples[TH_HEAP_NATIVE].items_count,
		sizeof(*lifetimes->is_collected));
	th_reference_frees_init(&frees, recording);
	end_samples(
		lifetimes, TH_HEAP_NATIVE, recording->frees, recording->frees_count, &frees);
	th_reference_frees_deinit(&frees);
	end_samples(lifetimes, TH_HEAP_JAVA, recording->deaths, recording->deaths_count, NULL);
	forget_lost(lifetimes);
}

static bool
has_unknown_end(const struct th_lifetimes *lifetimes, enum th_heap heap)
{
	size_t count = lifetimes->recording->samples[heap].items_count;

	for (size_t i = 0; i < count; i++)
		if (lifetimes->ends[heap][i] == TH_END_UNKNOWN)
			return true;
	return false;
}

static void
find_known_part(struct th_lifetimes *lifetimes, enum th_heap heap)
{
	const struct th_recording *recording = lifetimes->recording;
	const struct th_samples *samples = &recording->samples[heap];
	struct th_estimator sums[2] = {0};

	lifetimes->known_part[heap] = 1;
	if ((heap == TH_HEAP_JAVA && lifetimes->followed) || !has_unknown_end(lifetimes, heap))
		return;
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];
		bool is_known = lifetimes->ends[heap][i] != TH_END_UNKNOWN;

		th_estimator_add(&sums[is_known], sample->size,
			th_recording_sample_interval(recording, sample), (double)sample->keep,
			1);
	}
	double known = th_sums_point(&sums[1].bytes);
	double unknown = th_sums_point(&sums[0].bytes);
	lifetimes->unknown[heap] = sums[0].samples;
	lifetimes->known_part[heap] = known > 0 ? known / (known + unknown) : 1;
}

/* Collections */

/* Whether one of the collectors that ran is not a young-generation collector. */
static bool
is_major(const char *kind)
{
	char *copy = th_format_new("%s", kind);
	char *rest = NULL;
	bool found = false;

	copy[strcspn(copy, "(")] = '\0';
	for (char *name = strtok_r(copy, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
		if (name[strspn(name, " ")] && !th_collector_is_young(name))
			found = true;
	}
	free(copy);
	return found;
}

/*
 * Generational Z (21 and later) keeps followed objects alive while they are young; its
 * judgements are in the log (JAVA_JUDGED).
 */
static bool
is_blind(const char *kind)
{
	return strstr(kind, "ZGC m") != NULL;
}

/* Causes for which Z promotes all objects before it marks. */
static bool
is_on_demand(const char *kind)
{
	return strstr(kind, "System.gc") || strstr(kind, "Diagnostic Command") ||
	       strstr(kind, "ForceGarbageCollection");
}

static bool
is_of_old_only(const char *kind)
{
	return is_blind(kind) ? !is_on_demand(kind) : th_collector_is_of_old_only(kind);
}

/* Pauses of the cycle that one of this kind belongs to. */
static size_t
pauses_of(const char *kind)
{
	if (strstr(kind, "ZGC m"))
		return GENERATIONAL_Z_PAUSES;
	return strstr(kind, "concurrent") || strstr(kind, "Shenandoah") ? CONCURRENT_PAUSES : 1;
}

TH_COMPARE(compare_collections, struct th_decoded_collection, th_order(left->end, right->end))

static void
judge(struct th_lifetimes *lifetimes, const struct th_decoded_collection *collections,
	size_t index)
{
	char *kind = th_text_clean(collections[index].kind);
	size_t before = pauses_of(kind) - 1;
	size_t first = index > before ? index - before : 0;
	struct th_judgement judgement = {
		.births = is_blind(kind) ? 0 : collections[first].start,
		.time = collections[index].end,
		.is_major = is_major(kind),
		.is_whole = is_major(kind) && !is_of_old_only(kind),
		.is_collection = true,
	};

	th_array_append(lifetimes, judgements, judgement);
	free(kind);
}

static void
find_judgements(struct th_lifetimes *lifetimes)
{
	const struct th_recording *recording = lifetimes->recording;
	size_t count = recording->collections_count;
	struct th_decoded_collection *sorted = th_allocate(count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = recording->collections[i];
	th_sort(sorted, count, compare_collections);
	for (size_t i = 0; i < count; i++)
		judge(lifetimes, sorted, i);
	free(sorted);
	for (size_t i = 0; i < recording->judged_count; i++) {
		struct th_judgement judgement = {.births = recording->judged[i].births,
			.time = recording->judged[i].time,
			.is_major = true};

		th_array_append(lifetimes, judgements, judgement);
	}
	th_sort_by_word(lifetimes->judgements, lifetimes->judgements_count,
		sizeof(*lifetimes->judgements));
}

/* Public functions */

void
th_lifetimes_init(struct th_lifetimes *lifetimes, const struct th_recording *recording)
{
	*lifetimes = (struct th_lifetimes){.recording = recording};
	find_ends(lifetimes);
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		find_known_part(lifetimes, (enum th_heap)heap);
	find_judgements(lifetimes);
}

void
th_lifetimes_deinit(struct th_lifetimes *lifetimes)
{
	for (int heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++)
		free(lifetimes->ends[heap]);
	free(lifetimes->is_collected);
	free(lifetimes->judgements);
	free(lifetimes->followed);
}

/* State at a time */

/* The first judgement that ended after `time`. */
static size_t
first_after(const struct th_lifetimes *lifetimes, uint64_t time)
{
	return th_bisect(lifetimes->judgements_count, i, lifetimes->judgements[i].time <= time);
}

/* Until when deaths that collections up to `time` found are logged: see struct th_moment. */
static uint64_t
known_until(const struct th_lifetimes *lifetimes, uint64_t time)
{
	size_t next = first_after(lifetimes, time);
	bool has_earlier = false;

	for (size_t i = 0; i < next && !has_earlier; i++)
		has_earlier = lifetimes->judgements[i].is_collection;
	while (next < lifetimes->judgements_count && !lifetimes->judgements[next].is_collection)
		next++;
	if (!has_earlier)
		return time < UINT64_MAX ? time + 1 : time;
	return next < lifetimes->judgements_count ? lifetimes->judgements[next].time
						  : UINT64_MAX;
}

struct th_moment
th_lifetimes_moment(const struct th_lifetimes *lifetimes, uint64_t time)
{
	const struct th_recording *recording = lifetimes->recording;
	struct th_moment moment = {.time = time, .collections = time};

	for (size_t i = 0; i < recording->levels_count; i++) {
		const struct th_decoded_java_level *level = &recording->levels[i];

		if (level->time <= time && level->level > moment.level)
			moment.level = level->level < 32 ? level->level : 31;
	}
	moment.known = known_until(lifetimes, time);
	return moment;
}

const struct th_judgement *
th_lifetimes_last(const struct th_lifetimes *lifetimes, uint64_t time, bool major)
{
	for (size_t i = lifetimes->judgements_count; i-- > 0;) {
		const struct th_judgement *judgement = &lifetimes->judgements[i];

		if (judgement->time <= time && judgement->births &&
			(judgement->is_major || !major))
			return judgement;
	}
	return NULL;
}

uint64_t
th_lifetimes_judged(const struct th_lifetimes *lifetimes, uint64_t time, bool major)
{
	const struct th_judgement *last = th_lifetimes_last(lifetimes, time, major);

	return last ? last->births : 0;
}

uint32_t
th_lifetimes_collections(const struct th_lifetimes *lifetimes, uint64_t from, uint64_t to)
{
	size_t first = first_after(lifetimes, from);
	size_t last = first_after(lifetimes, to);
	uint32_t count = 0;

	/* The judgement, or the cycle, that was running at `from`. */
	while (first < last && lifetimes->judgements[first].births <= from &&
		lifetimes->judgements[first].births)
		first++;
	for (; first < last; first++)
		count += lifetimes->judgements[first].is_collection;
	return count;
}

/* The end of the first collection that judged an object born at `birth`. */
static uint64_t
first_judgement(const struct th_lifetimes *lifetimes, uint64_t birth)
{
	for (size_t i = first_after(lifetimes, birth); i < lifetimes->judgements_count; i++) {
		if (lifetimes->judgements[i].births > birth)
			return i + 1 < lifetimes->judgements_count
				       ? lifetimes->judgements[i + 1].time
				       : UINT64_MAX - 1;
	}
	return 0;
}

bool
th_lifetimes_is_temporary(const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index)
{
	uint64_t birth = lifetimes->recording->samples[heap].items[index].time;
	uint64_t end = lifetimes->ends[heap][index];

	if (end == TH_END_NEVER || end == TH_END_UNKNOWN)
		return false;
	if (heap != TH_HEAP_JAVA)
		return end - birth <= TH_TEMPORARY_NS;
	/*
	 * Found dead after the first collection that judged it, before the end of the next one.
	 */
	return end < first_judgement(lifetimes, birth);
}

/* The peak */

/* A change of the live bytes; of equal times, ends are applied before births. */
struct change {
	uint64_t key; /* time << 1 | is a birth; first: they are sorted by it */
	double bytes;
};

struct peak {
	uint64_t time;
	double bytes;
};

/* Changes of some heaps in (from, moment.time], while the level of the Java table is constant. */
struct changes {
	const struct th_lifetimes *lifetimes;
	uint64_t from;
	struct th_moment moment;
	TH_ARRAY(struct change, items);
};

static void
add_sample(struct changes *changes, const struct th_calibration *calibration, enum th_heap heap,
	size_t index)
{
	const struct th_lifetimes *lifetimes = changes->lifetimes;
	const struct th_sample *sample = &lifetimes->recording->samples[heap].items[index];
	uint64_t birth = sample->time > changes->from ? sample->time : changes->from;
	uint64_t end = lifetimes->ends[heap][index];
	struct th_estimator one = {0};

	if (sample->time > changes->moment.time || end <= changes->from ||
		!th_lifetimes_follows(lifetimes, heap, index, &changes->moment))
		return;
	th_lifetimes_add(lifetimes, calibration, heap, index, &changes->moment, &one);
	double bytes = th_sums_point(&one.bytes);
	th_array_append(changes, items, ((struct change){birth << 1 | 1, bytes}));
	if (end <= changes->moment.time)
		th_array_append(changes, items, ((struct change){end << 1, -bytes}));
}

static void
look_for_peak(struct peak *peak, struct changes *changes)
{
	double bytes = 0;

	th_sort_by_word(changes->items, changes->items_count, sizeof(*changes->items));
	for (size_t i = 0; i < changes->items_count; i++) {
		bytes += changes->items[i].bytes;
		if (bytes > peak->bytes)
			*peak = (struct peak){changes->items[i].key >> 1, bytes};
	}
}

/* The level is constant over (from, to]. */
static void
look_into_span(struct peak *peak, const struct th_lifetimes *lifetimes,
	const struct th_calibration *calibrations, unsigned heaps, uint64_t from, uint64_t to)
{
	struct changes changes = {.lifetimes = lifetimes,
		.from = from,
		.moment = th_lifetimes_moment(lifetimes, to)};

	/* Mapped memory holds the blocks of the other two. */
	if (heaps & ~(1u << TH_HEAP_MAPPED))
		heaps &= ~(1u << TH_HEAP_MAPPED);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		size_t count = lifetimes->recording->samples[heap].items_count;

		for (size_t i = 0; heaps & 1u << heap && i < count; i++)
			add_sample(&changes, &calibrations[heap], heap, i);
	}
	look_for_peak(peak, &changes);
	free(changes.items);
}

struct th_moment
th_lifetimes_peak(const struct th_lifetimes *lifetimes,
	const struct th_calibration *calibrations, unsigned heaps)
{
	const struct th_recording *recording = lifetimes->recording;
	/* Of what had ended before, a ring has only a part: the sum is not precise enough. */
	uint64_t from = recording->whole_from;
	struct peak peak = {.time = from ? from : recording->start};

	for (size_t i = 0; i < recording->levels_count; i++) {
		uint64_t to = recording->levels[i].time - 1;

		if (to > from) {
			look_into_span(&peak, lifetimes, calibrations, heaps, from, to);
			from = to;
		}
	}
	look_into_span(&peak, lifetimes, calibrations, heaps, from, recording->end);
	return th_lifetimes_moment(lifetimes, peak.time);
}

/* The Java heap in use */

/* The measurement nearest to `time`, of those at or after it, or at or before it. */
static const struct th_decoded_heap_use *
find_use(const struct th_recording *recording, uint64_t time, bool is_after)
{
	const struct th_decoded_heap_use *found = NULL;

	for (size_t i = 0; i < recording->heap_uses_count; i++) {
		const struct th_decoded_heap_use *use = &recording->heap_uses[i];

		if (is_after ? use->time >= time && (!found || use->time < found->time)
			     : use->time <= time && (!found || use->time > found->time))
			found = use;
	}
	return found;
}

const struct th_decoded_heap_use *
th_heap_use_after(const struct th_recording *recording, uint64_t time)
{
	return find_use(recording, time, true);
}

double
th_heap_use_bound(const struct th_recording *recording,
	const struct th_calibration *calibration, uint64_t time)
{
	const struct th_samples *samples = &recording->samples[TH_HEAP_JAVA];
	const struct th_decoded_heap_use *use = find_use(recording, time, false);
	struct th_estimator since = {0};

	if (!use)
		return calibration->bytes.high;
	for (size_t i = 0; i < samples->items_count; i++) {
		const struct th_sample *sample = &samples->items[i];

		if (sample->time > use->time && sample->time <= time)
			th_calibration_add(calibration, recording, sample, &since);
	}
	return fmin(calibration->bytes.high,
		(double)use->used + th_calibration_bytes(calibration, &since).high);
}

struct th_estimate
th_heap_use_clamp(const struct th_estimate *estimate, double bound)
{
	struct th_estimate result = *estimate;

	result.estimate = fmin(result.estimate, bound);
	/* Certainly above the bytes in use: it includes garbage that is not judged yet. */
	if (result.low > bound) {
		result.low = 0;
		result.exact = false;
	}
	result.high = fmin(result.high, bound);
	return result;
}
