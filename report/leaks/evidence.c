/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a site (evidence.h), computed from its samples in one pass: counts, sums for the
 * estimates, and birth times; and the intervals of the figures. The tests of birth times and the
 * verdict are in evidence_verdict.c.
 */
#include "report/leaks/evidence_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"
#include "report/statistics/distribution.h"
#include "report/statistics/forced_collection.h"
#include "report/statistics/sampling_changes.h"

/* Intervals */

/* The point estimate of a sum. */
static double
bytes_in(const struct th_estimator *sum)
{
	return th_sums_point(&sum->bytes);
}

static double
objects_in(const struct th_estimator *sum)
{
	return th_sums_point(&sum->objects);
}

/*
 * Many sites lost nothing. Their interval is the same for all, unless only some objects are
 * followed: then it is wider by the number of samples that each followed sample represents.
 */
static struct th_estimate
bytes_of(const struct th_judge *judge, const struct th_evidence *evidence,
	const struct th_estimator *sum)
{
	struct th_estimate nothing = judge->nothing;

	if (sum->samples)
		return th_profile_bytes(judge->profile, judge->heap, TH_MEASURE_LIVE, sum);
	if (evidence->sums.samples > 0)
		nothing.high *= evidence->sums.followed / evidence->sums.samples;
	return nothing;
}

/*
 * Old blocks that died: without a sample of them, or with few, the upper limit depends on how
 * sparsely they may have been sampled. A site with many samples shows that itself, also where
 * the heap as a whole was sampled more sparsely for some time.
 */
static struct th_estimate
lost_bytes(const struct th_judge *judge, const struct th_evidence *evidence,
	const struct th_estimator *sum)
{
	double gap = th_mean_interval_thin(&evidence->sums.gaps);

	if (evidence->sums.samples < ENOUGH_FOR_GAP || judge->profile->lifetimes.followed ||
		gap <= 0 || gap >= judge->profile->heaps[judge->heap].gap)
		return bytes_of(judge, evidence, sum);
	return th_estimate_bytes(sum, NULL, gap * judge->thinning);
}

/* Intervals are slow to compute: the limit is skipped for sites that have not grown at all. */
double
th_evidence_growth_limit(const struct th_judge *judge, const struct th_evidence *evidence,
	const struct th_estimator *gained, const struct th_estimator *lost)
{
	double growth = bytes_in(gained) - bytes_in(lost);

	if (growth <= 0)
		return growth;
	struct th_estimate more = bytes_of(judge, evidence, gained);
	struct th_estimate less = lost_bytes(judge, evidence, lost);
	return th_estimate_difference(&more, &less).low;
}

double
th_evidence_limit_of_hits(const struct th_judge *judge, uint32_t hits, double gap)
{
	struct th_estimator one = {0};
	struct th_estimator gained = {0};
	struct th_estimate nothing = judge->nothing;

	/* A damaged log may claim any probability. */
	th_estimator_add(&one, 1, (uint64_t)fmin(fmax(gap, 1), 0x1p63), 1, 1);
	for (uint32_t i = 0; i < hits; i++)
		th_estimator_merge(&gained, &one);
	struct th_estimate bytes = th_estimate_bytes(&gained, NULL, gap);
	if (judge->profile->lifetimes.followed)
		nothing.high *= judge->thinning;
	return th_estimate_difference(&bytes, &nothing).low;
}

/* Seconds between warm-up and horizon in which the heap was sampled. */
static double
sampled_seconds(const struct th_judge *judge)
{
	const struct th_observation_window *horizon = judge->horizon;

	if (horizon->horizon <= horizon->warm)
		return 0;
	return (double)th_sampling_changes_sampled(judge->profile->recording, judge->heap,
		       horizon->warm, horizon->horizon) /
	       1e9;
}

static struct th_estimate
live_bytes(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return evidence->is_resident ? th_estimate_bytes(&evidence->sums.resident, NULL,
					       judge->profile->heaps[judge->heap].gap)
				     : bytes_of(judge, evidence, &evidence->sums.live);
}

void
th_evidence_measure(struct th_evidence *evidence, const struct th_judge *judge)
{
	const struct th_evidence_sums *sums = &evidence->sums;

	evidence->live_bytes = live_bytes(evidence, judge);
	evidence->live_objects = th_profile_objects(
		judge->profile, judge->heap, TH_MEASURE_LIVE, &sums->live);
	if (evidence->is_trend)
		return;
	struct th_estimate gained = bytes_of(judge, evidence, &sums->gained);
	struct th_estimate lost = lost_bytes(judge, evidence, &sums->lost);
	evidence->growth = th_estimate_scale(th_estimate_difference(&gained, &lost),
		judge->seconds > 0 ? 1 / judge->seconds : 0);
}

/* Figures */

/* Samples of old age, and those alive of them. */
struct cohort {
	uint64_t samples;
	uint64_t alive;
};

struct look {
	struct th_evidence *evidence;
	struct th_judge *judge;
	double allocated; /* objects, up to the horizon */
	double alive;     /* of these */
	/* Java: the part of `lost` and lost_late that the first GC after its allocation found dead */
	struct th_estimator garbage;
	struct th_estimator garbage_late;
	struct cohort early;  /* from the warm-up to the middle */
	struct cohort late;   /* from then on */
	uint64_t garbage_old; /* samples of garbage that was old when a GC found it */
	uint64_t largest;     /* bytes, of the samples so far */
	bool is_uneven;       /* a sample was not larger than those before it */
	uint64_t never_freed; /* samples so far */
};

/* Adds to the growth between `from` and the horizon. */
static void
add_change(const struct th_observation_window *horizon, uint64_t birth, uint64_t end,
	uint64_t from, const struct th_estimator *one, struct th_estimator *gained,
	struct th_estimator *lost)
{
	bool is_now = end == TH_END_NEVER && birth + horizon->old <= horizon->horizon;
	bool was = birth + horizon->old <= from && end > from;

	if (is_now && !was)
		th_estimator_merge(gained, one);
	else if (was && end != TH_END_NEVER)
		th_estimator_merge(lost, one);
}

static void
count_survivor(struct look *look, uint64_t birth, double bytes)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_observation_window *horizon = evidence->horizon;

	evidence->alive++;
	if (birth + horizon->old <= horizon->horizon) {
		evidence->alive_old++;
		evidence->kept_bytes += bytes;
		if (birth + horizon->old > horizon->middle)
			evidence->born_late++;
		if (birth >= horizon->warm)
			evidence->kept_since++;
	}
}

/* `young`: died before its second GC, or was freed soon. */
static void
count_death(struct look *look, uint64_t birth, uint64_t end, double bytes, bool is_young)
{
	struct th_evidence *evidence = look->evidence;

	evidence->dead++;
	look->garbage_old += is_young && end - birth >= evidence->horizon->old;
	if (!is_young && end - birth >= evidence->horizon->old) {
		evidence->dead_old++;
		evidence->dead_at_exit += look->judge->exit_start &&
					  end >= look->judge->exit_start;
		evidence->released_bytes += bytes;
	}
}

static void
count_cohort(struct look *look, uint64_t birth, uint64_t end)
{
	const struct th_observation_window *horizon = look->evidence->horizon;
	struct cohort *cohort = birth < horizon->middle ? &look->early : &look->late;

	if (birth < horizon->warm || birth + horizon->old > horizon->horizon)
		return;
	cohort->samples++;
	cohort->alive += end == TH_END_NEVER;
}

/* When a sample ended; TH_END_NEVER: not yet. */
static uint64_t
end_of(const struct look *look, size_t index)
{
	const struct th_judge *judge = look->judge;
	const struct th_profile *profile = judge->profile;
	uint64_t end = th_lifetimes_end_by(
		&profile->lifetimes, judge->heap, index, &profile->at);

	if (judge->ignores_exit && end >= judge->exit_start)
		return TH_END_NEVER;
	if (judge->ignores_collections &&
		th_lifetimes_is_collected(&profile->lifetimes, judge->heap, index))
		return TH_END_NEVER;
	return end;
}

/* Counts a block that lived long enough to be old, by who freed it. */
static void
count_freed(struct look *look, size_t index, const struct th_sample *sample, double bytes)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_profile *profile = look->judge->profile;
	uint64_t end = profile->lifetimes.ends[evidence->heap][index];

	if (evidence->heap != TH_HEAP_NATIVE)
		return;
	look->never_freed += end == TH_END_NEVER;
	if (end == TH_END_NEVER || end - sample->time < evidence->horizon->old)
		return;
	if (th_lifetimes_is_collected(&profile->lifetimes, evidence->heap, index)) {
		evidence->collected++;
		evidence->collected_bytes += bytes;
		evidence->left = look->never_freed;
	} else {
		evidence->closed += end <= profile->at.time;
	}
}

/* Adds the snapshots' data on a mapping, which counts once, however many parts it has. */
static void
look_at_residency(struct look *look, const struct th_sample *sample, bool is_live)
{
	enum th_heap heap = look->evidence->heap;
	const struct th_profile *profile = look->judge->profile;
	const struct th_calibration *calibration = &profile->heaps[heap];
	struct th_estimator weight = {0};
	const struct th_resident_mappings *residency = look->judge->residency;
	double now = (double)sample->size; /* if the last snapshot has no data on it */

	if (sample->is_part)
		return;
	th_lifetimes_add_part(
		&profile->lifetimes, calibration, heap, sample, &profile->at, 1, &weight);
	for (size_t i = 0; i < residency->blocks_count; i++) {
		uint64_t word;

		if (!th_resident_blocks_find(&residency->blocks[i], sample, &word))
			continue;
		look->judge->resident[i] += bytes_in(&weight) *
					    (double)(word & TH_TOUCHED_BYTES);
		if (!is_live || i < residency->blocks_count - 1)
			continue;
		look->evidence->is_resident = true;
		now = th_touched_bytes(sample, word);
	}
	if (is_live)
		th_lifetimes_add_part(&profile->lifetimes, calibration, heap, sample,
			&profile->at, now, &look->evidence->sums.resident);
}

static void
look_at(struct look *look, size_t index)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_observation_window *horizon = evidence->horizon;
	const struct th_profile *profile = look->judge->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_sample *sample =
		&profile->recording->samples[evidence->heap].items[index];
	uint64_t end = end_of(look, index);
	struct th_estimator one = {0};

	if (sample->time > profile->at.time ||
		!th_lifetimes_follows(lifetimes, evidence->heap, index, &profile->at))
		return;
	if (look->judge->omits_collected &&
		th_lifetimes_is_collected(lifetimes, evidence->heap, index))
		return;
	th_profile_add(profile, TH_MEASURE_LIVE, evidence->heap, index, &one);
	count_freed(look, index, sample, bytes_in(&one));
	look->is_uneven |= sample->size <= look->largest;
	look->largest = sample->size;
	struct th_birth birth = {sample->time, 1};
	if (evidence->heap == TH_HEAP_JAVA && lifetimes->followed)
		birth.weight = 1 / (double)lifetimes->followed[index];
	evidence->sums.samples++;
	evidence->sums.followed += birth.weight;
	th_mean_interval_add(&evidence->sums.gaps, sample->size,
		th_recording_sample_interval(profile->recording, sample), (double)sample->keep,
		1);
	if (end == TH_END_NEVER) {
		th_estimator_merge(&evidence->sums.live, &one);
		if (lifetimes->ends[evidence->heap][index] != TH_END_NEVER)
			evidence->freed_after += bytes_in(&one);
		th_array_append(look->judge, survivors, birth);
	}
	if (look->judge->resident)
		look_at_residency(look, sample, end == TH_END_NEVER);
	if (sample->time >= horizon->horizon && evidence->heap == TH_HEAP_JAVA)
		return;
	bool is_garbage = end != TH_END_NEVER && evidence->heap == TH_HEAP_JAVA &&
			  th_lifetimes_is_temporary(lifetimes, evidence->heap, index);
	evidence->allocated++;
	look->allocated += objects_in(&one);
	if (end == TH_END_NEVER) {
		look->alive += objects_in(&one);
		count_survivor(look, sample->time, bytes_in(&one));
	} else {
		count_death(look, sample->time, end, bytes_in(&one), is_garbage);
	}
	count_cohort(look, sample->time, end);
	add_change(horizon, sample->time, end, horizon->warm, &one, &evidence->sums.gained,
		is_garbage ? &look->garbage : &evidence->sums.lost);
	add_change(horizon, sample->time, end, horizon->middle, &one,
		&evidence->sums.gained_late,
		is_garbage ? &look->garbage_late : &evidence->sums.lost_late);
}

/* Whether clearly fewer of the earlier objects are alive: by the numbers alive, or by those dead. */
static bool
have_died(const struct cohort *early, const struct cohort *late)
{
	double samples = (double)(early->samples + late->samples);

	if (!early->samples || !late->samples)
		return false;
	double is_early = (double)early->samples / samples;
	double is_late = (double)late->samples / samples;
	return th_distribution_misses((double)late->alive, (double)early->alive, is_late,
		       is_early, 1) < UNLIKELY_ALIKE ||
	       th_distribution_misses((double)(early->samples - early->alive),
		       (double)(late->samples - late->alive), is_early, is_late,
		       1) < UNLIKELY_ALIKE;
}

static bool
are_alike(const struct cohort *early, const struct cohort *late)
{
	return early->alive >= ENOUGH_SAMPLES &&
	       (double)(early->alive * late->samples) >=
		       ALIKE * (double)(late->alive * early->samples);
}

/*
 * Garbage that waited long for its first GC was old by then: objects in use for a while look the
 * same, so it counts as lost.  Not if as many of the earlier objects are alive as of the later ones:
 * then what did not die at once stayed.  If clearly fewer are, they were in use, and died old.
 */
static void
settle_garbage(struct look *look)
{
	struct th_evidence_sums *sums = &look->evidence->sums;

	if (!look->garbage_old || are_alike(&look->early, &look->late))
		return;
	th_estimator_merge(&sums->lost, &look->garbage);
	th_estimator_merge(&sums->lost_late, &look->garbage_late);
	if (have_died(&look->early, &look->late))
		look->evidence->dead_old += look->garbage_old;
}

/* Mean size of survivors, which determines their sampling probability. */
static double
size_of_survivors(const struct look *look)
{
	const struct th_estimator *live = &look->evidence->sums.live;
	double objects = objects_in(live);

	return objects > 0 ? bytes_in(live) / objects : 0;
}

static void
find_ages(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	struct th_judge *judge = look->judge;
	uint64_t horizon = evidence->horizon->horizon;

	/* Samples are in the order of the log, which is nearly that of time. */
	th_sort_by_word(judge->survivors, judge->survivors_count, sizeof(*judge->survivors));
	if (!evidence->alive)
		return;
	if (evidence->alive_old)
		evidence->first_birth =
			judge->survivors[evidence->alive_old / SPREAD_IGNORES].time;
	uint64_t birth = judge->survivors[evidence->alive / 2].time;
	evidence->median_age = horizon > birth ? (double)(horizon - birth) / 1e9 : 0;
	evidence->collections = th_lifetimes_collections(
		&judge->profile->lifetimes, birth, judge->horizon->end);
}

struct th_outline
th_evidence_outline(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return (struct th_outline){
		.live = evidence->live,
		.live_bytes = evidence->live_bytes.estimate,
		.live_low = evidence->verdict == TH_VERDICT_LEAK
				    ? live_bytes(evidence, judge).low
				    : 0,
		.growth = evidence->growth.estimate,
		.survivors = evidence->survivors,
		.pause_probability = evidence->pause_probability,
		.live_samples = evidence->live_samples,
		.allocated = evidence->allocated,
		.gained_late = (uint32_t)evidence->sums.gained_late.samples,
		.lost_late = (uint32_t)evidence->sums.lost_late.samples,
		.kept_since = (uint32_t)evidence->kept_since,
		.dead_old = (uint32_t)evidence->dead_old,
		.verdict = (uint8_t)evidence->verdict,
		.reason = (uint8_t)evidence->reason,
		.is_alive = evidence->alive,
		.has_births = evidence->born_since,
		.is_kept = th_evidence_keeps_old(evidence),
	};
}

void
th_judge_init(struct th_judge *judge, enum th_heap heap, const struct th_profile *profile,
	const struct th_observation_window *horizon,
	const struct th_resident_mappings *residency)
{
	const struct th_decoded_teardown *mark = profile->teardown.mark;
	struct th_estimator none = {0};
	struct th_forced_collection at_exit;

	*judge = (struct th_judge){.heap = heap,
		.profile = profile,
		.horizon = horizon,
		.older = *horizon,
		.thinning = 1,
		.chance_limit = TH_SITE_SHARE * TH_ERROR_RATE};
	judge->collects_at_exit = th_forced_collection_at_exit(profile->recording, &at_exit);
	if (heap == TH_HEAP_JAVA && judge->collects_at_exit &&
		!(mark && mark->cause == TH_TEARDOWN_SIGNAL))
		judge->exit_start = at_exit.start;
	judge->older.old *= OLDER;
	judge->older.end = judge->older.horizon > judge->older.old
				   ? judge->older.horizon - judge->older.old
				   : judge->older.warm;
	if (profile->heaps[heap].gap > 0)
		judge->thinning = th_lifetimes_calibration(&profile->lifetimes,
					  &profile->heaps[heap], heap, &profile->at, 0)
					  .gap /
				  profile->heaps[heap].gap;
	judge->nothing = heap == TH_HEAP_JAVA && profile->lifetimes.followed
				 ? th_estimate_bytes(&none, NULL, profile->heaps[heap].gap)
				 : th_profile_bytes(profile, heap, TH_MEASURE_LIVE, &none);
	th_sampling_density_init(
		&judge->density, profile->recording, heap, horizon->warm, horizon->end);
	th_load_init(&judge->load, profile->recording, heap, horizon->start, horizon->end);
	th_load_init_program(&judge->program, profile->recording, horizon->start, horizon->end);
	judge->seconds = sampled_seconds(judge);
	if (heap == TH_HEAP_MAPPED && residency->has_data) {
		judge->residency = residency;
		judge->resident = th_allocate(residency->times_count, sizeof(*judge->resident));
	}
}

void
th_judge_deinit(struct th_judge *judge)
{
	free(judge->resident);
	free(judge->survivors);
}

/* Resets the judge's state of the previous site. */
static void
look_init(struct look *look, struct th_evidence *evidence, struct th_judge *judge)
{
	judge->survivors_count = 0;
	if (judge->resident)
		memset(judge->resident, 0,
			judge->residency->times_count * sizeof(*judge->resident));
	*look = (struct look){.evidence = evidence, .judge = judge};
}

static void
set_points(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_evidence_sums *sums = &evidence->sums;
	double growth = bytes_in(&sums->gained) - bytes_in(&sums->lost);
	double seconds = look->judge->seconds;

	evidence->live = bytes_in(&sums->live);
	evidence->live_samples = sums->live.samples;
	evidence->survivors = look->allocated > 0 ? look->alive / look->allocated : 0;
	evidence->live_bytes = th_estimate_exact(
		bytes_in(evidence->is_resident ? &sums->resident : &sums->live),
		sums->live.samples);
	evidence->live_objects = th_estimate_exact(objects_in(&sums->live), sums->live.samples);
	evidence->growth = th_estimate_exact(
		seconds > 0 ? growth / seconds : 0, sums->gained.samples + sums->lost.samples);
	evidence->chance = th_chance_of_more(
		sums->gained_late.samples, sums->lost_late.samples);
}

/* Evaluates the current site by one minimum age of old blocks; true: it is a leak. */
static bool
evaluate(struct th_evidence *evidence, struct th_judge *judge,
	const struct th_observation_window *horizon)
{
	struct look look;

	*evidence = (struct th_evidence){.heap = judge->heap,
		.horizon = horizon,
		.first_birth = UINT64_MAX,
		.chance_limit = judge->chance_limit *
				(horizon == judge->horizon ? FIRST_LOOK : SECOND_LOOK)};
	look_init(&look, evidence, judge);
	for (size_t i = 0; i < judge->samples_count; i++)
		look_at(&look, judge->samples[i]);
	settle_garbage(&look);
	evidence->ascending = look.is_uneven ? 0 : (uint64_t)evidence->sums.samples;
	if (judge->heap == TH_HEAP_JAVA && judge->profile->lifetimes.followed)
		evidence->enough_old = ENOUGH_FOLLOWED;
	set_points(&look);
	find_ages(&look);
	th_evidence_test_births(evidence, judge, size_of_survivors(&look));
	th_evidence_find_verdict(evidence, judge);
	return evidence->verdict == TH_VERDICT_LEAK;
}

/*
 * Judges a site as though what collections freed was alive: true if it is a leak then.  What is alive
 * at the profile's `at` stays what it is, as in all views.
 */
static bool
is_leak_without(bool *collections, struct th_evidence *evidence, struct th_judge *judge)
{
	struct th_evidence kept;

	*collections = true;
	bool is_leak = evaluate(&kept, judge, judge->horizon);
	*collections = false;
	if (!is_leak)
		return false;
	if (evidence->heap == TH_HEAP_JAVA)
		kept.collected_bytes = kept.live - evidence->live;
	kept.live = evidence->live;
	kept.freed_after = evidence->freed_after;
	kept.live_samples = evidence->live_samples;
	kept.live_bytes = evidence->live_bytes;
	kept.live_objects = evidence->live_objects;
	kept.sums.live = evidence->sums.live;
	*evidence = kept;
	return true;
}

/*
 * The full GC at exit found nearly all old objects dead: they may have been kept until shortly before.
 * Old garbage looks the same, so growth is unclear.
 */
static void
judge_dropped(struct th_evidence *evidence, struct th_judge *judge)
{
	double old = (double)(evidence->alive_old + evidence->dead_at_exit);

	if (evidence->dead_at_exit >= ENOUGH_SAMPLES &&
		(double)evidence->alive_old <= LEAK_FREES * old &&
		is_leak_without(&judge->ignores_exit, evidence, judge))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_DROPPED);
}

/*
 * Of a site of which collections free more of the old blocks than a leak frees, and leave as many, true if
 * what they leave is a leak by itself.
 * The program keeps the owners of that: what was collected is not part of the leak.
 */
static bool
judge_kept(struct th_evidence *evidence, struct th_judge *judge)
{
	double least = LEAK_FREES * (double)(evidence->collected + evidence->left);
	struct th_evidence kept;

	if (!judge->collects_at_exit || evidence->collected < ENOUGH_SAMPLES ||
		evidence->left < ENOUGH_SAMPLES || (double)evidence->collected <= least ||
		(double)evidence->left <= least)
		return false;
	judge->omits_collected = true;
	bool is_leak = evaluate(&kept, judge, evidence->horizon);
	judge->omits_collected = false;
	if (!is_leak)
		return false;
	kept.omits_collected = true;
	kept.collected = evidence->collected;
	kept.collected_bytes = evidence->collected_bytes;
	*evidence = kept;
	return true;
}

/*
 * Only collections free the blocks: a Java object owns each, and the program does not close it.  At least
 * half of the old ones: a collection may be under way, or may not reach old owners.  The program may free
 * as many as of a leak.
 */
static void
judge_unclosed(struct th_evidence *evidence, struct th_judge *judge)
{
	uint64_t freed = evidence->collected + evidence->closed;

	if (evidence->collected >= ENOUGH_SAMPLES && evidence->left <= evidence->collected &&
		(double)evidence->closed <= LEAK_FREES * (double)freed &&
		is_leak_without(&judge->ignores_collections, evidence, judge))
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_UNCLOSED);
}

void
th_evidence_init(struct th_evidence *evidence, struct th_judge *judge, const uint32_t *samples,
	size_t count)
{
	struct th_evidence older;

	judge->samples = samples;
	judge->samples_count = count;
	evaluate(evidence, judge, judge->horizon);
	th_evidence_judge_residency(evidence, judge);
	/* So many of the old blocks were freed that only older ones can show a leak. */
	if (evidence->verdict != TH_VERDICT_LEAK && evidence->reason != TH_REASON_UNUSED &&
		!th_evidence_keeps_old(evidence) && evidence->alive_old >= ENOUGH_LATE &&
		evaluate(&older, judge, &judge->older))
		*evidence = older;
	judge_dropped(evidence, judge);
	if (!judge_kept(evidence, judge))
		judge_unclosed(evidence, judge);
}
