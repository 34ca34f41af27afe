/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every threshold of the verdicts stands here, with its reason.
 */
#include "report/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"
#include "report/changes.h"

/*
 * Old survivors out of the later half that growth must rest on.  Five without a death are also
 * what makes the lower limit of growth positive.
 */
#define ENOUGH_LATE 5
/* Old survivors must spread over this much of the time at least. */
#define SPREAD_PART 0.25
/* A program may end with a moment of other work, in which a leak pauses. */
#define PAUSE_PART 0.2
/* A pause that a steady leak makes with less probability than this is an end. */
#define UNLIKELY_PAUSE 0.05
/* Leaks that come in bursts pause between them; the last pause may be so much longer. */
#define LONGER_PAUSE 1.5
/* So few survivors in the last quarter, by the same reasoning, are a slowing down. */
#define UNLIKELY_QUARTER 0.02
/* Of what grew old, a leak frees no more than this part: some other use of the same place. */
#define LEAK_FREES 0.1
/* So many accounts are in ascending order by chance at 1 : 120. */
#define ENOUGH_ACCOUNTS 5
/* Of that order; accounts that go to and fro come to more. */
#define UNLIKELY_TREND 0.02
/* Sampling intervals that are in memory more than at the middle: as much as other growth takes. */
#define LEAST_GROWTH_INTERVALS 7
/* The last quarter of the time must have half of its due of that growth. */
#define LEAST_QUARTER 0.125
/* Verdicts out of fewer samples would be guesses. */
#define ENOUGH_SAMPLES 5
/* A place that frees this part of its objects, and does not grow, churns. */
#define CHURN_FREES 0.5

const char *
th_verdict_name(enum th_verdict verdict)
{
	switch (verdict) {
	case TH_VERDICT_LEAK:
		return "leak";
	case TH_VERDICT_PLATEAU:
		return "plateau";
	case TH_VERDICT_CHURN:
		return "churn";
	default:
		return "unclear";
	}
}

/* Figures */

/* Sums over the samples of a place. */
struct sums {
	struct th_evidence_sums kept;
	double allocated;                /* objects, up to the horizon */
	double alive;                    /* of these */
	struct th_estimator gained_late; /* as `gained` and `lost`, from the middle on */
	struct th_estimator lost_late;
};

struct look {
	struct th_evidence *evidence;
	struct th_judge *judge;
	struct sums sums;
};

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

/* Whether a block was old and alive at a time. */
static bool
is_old_at(const struct th_horizon *horizon, uint64_t birth, uint64_t end, uint64_t time)
{
	return birth + horizon->old <= time && end > time;
}

/* Adds to the growth between `from` and the horizon. */
static void
add_change(const struct th_horizon *horizon, uint64_t birth, uint64_t end, uint64_t from,
	const struct th_estimator *one, struct th_estimator *gained, struct th_estimator *lost)
{
	bool is_now = end == TH_END_NEVER && birth + horizon->old <= horizon->horizon;
	bool was = is_old_at(horizon, birth, end, from);

	if (is_now && !was)
		th_estimator_merge(gained, one);
	else if (was && end != TH_END_NEVER)
		th_estimator_merge(lost, one);
}

static void
count_survivor(struct look *look, uint64_t birth, double bytes)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_horizon *horizon = evidence->horizon;

	evidence->alive++;
	th_array_append(look->judge, all_births, birth);
	if (birth + horizon->old <= horizon->horizon) {
		evidence->alive_old++;
		evidence->kept_bytes += bytes;
		if (birth < evidence->first_birth)
			evidence->first_birth = birth;
		if (birth + horizon->old > horizon->middle)
			evidence->born_late++;
	}
}

/* `young`: it never saw a second collection, or was freed soon. */
static void
count_death(struct look *look, uint64_t birth, uint64_t end, double bytes, bool is_young)
{
	struct th_evidence *evidence = look->evidence;

	evidence->dead++;
	if (!is_young && end - birth >= evidence->horizon->old) {
		evidence->dead_old++;
		evidence->released_bytes += bytes;
	}
}

/* Bytes of a live sample that are in memory: all of it where the last account does not say. */
static double
resident_now(struct look *look, const struct th_sample *sample,
	const struct th_residency_point *points, size_t count)
{
	uint64_t bytes = sample->size;

	if (count && points[count - 1].account == look->judge->residency->times_count - 1) {
		look->evidence->is_resident = true;
		if (points[count - 1].bytes < bytes)
			bytes = points[count - 1].bytes;
	}
	return (double)bytes;
}

/* Adds what accounts say of a mapping, which counts once however many parts it has. */
static void
look_at_residency(struct look *look, const struct th_sample *sample, bool is_live)
{
	enum th_heap heap = look->evidence->heap;
	const struct th_profile *profile = look->judge->profile;
	const struct th_calibration *calibration = &profile->heaps[heap];
	uint64_t interval = th_recording_sample_interval(profile->recording, sample);
	double keep = (double)sample->keep *
		      th_lifetimes_keep(&profile->lifetimes, heap, &profile->end);
	double factor = calibration->factors[sample->thread];
	struct th_estimator weight = {0};
	const struct th_residency_point *points;
	size_t count;

	if (sample->is_part)
		return;
	points = th_residency_find(look->judge->residency, sample->record, &count);
	th_estimator_add_part(&weight, 1, sample->size, interval, keep, factor);
	for (size_t i = 0; i < count; i++)
		look->judge->resident[points[i].account] += bytes_in(&weight) *
							    (double)points[i].bytes;
	if (is_live)
		th_estimator_add_part(&look->sums.kept.resident,
			resident_now(look, sample, points, count), sample->size, interval, keep,
			factor);
}

static void
look_at(struct look *look, size_t index)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_horizon *horizon = evidence->horizon;
	const struct th_profile *profile = look->judge->profile;
	const struct th_lifetimes *lifetimes = &profile->lifetimes;
	const struct th_calibration *calibration = &profile->heaps[evidence->heap];
	const struct th_sample *sample =
		&profile->recording->samples[evidence->heap].items[index];
	uint64_t end = lifetimes->ends[evidence->heap][index];
	struct th_estimator one = {0};
	struct sums *sums = &look->sums;

	if (!th_lifetimes_follows(lifetimes, evidence->heap, index, &profile->end))
		return;
	th_lifetimes_add(lifetimes, calibration, sample,
		th_lifetimes_keep(lifetimes, evidence->heap, &profile->end), &one);
	if (end == TH_END_NEVER) {
		th_estimator_merge(&sums->kept.live, &one);
		if (sample->time >= horizon->warm)
			th_array_append(look->judge, births, sample->time);
	}
	if (look->judge->resident)
		look_at_residency(look, sample, end == TH_END_NEVER);
	if (sample->time >= horizon->horizon && evidence->heap == TH_HEAP_JAVA)
		return;
	evidence->allocated++;
	sums->allocated += objects_in(&one);
	if (end == TH_END_NEVER) {
		sums->alive += objects_in(&one);
		count_survivor(look, sample->time, bytes_in(&one));
	} else {
		count_death(look, sample->time, end, bytes_in(&one),
			evidence->heap == TH_HEAP_JAVA &&
				th_lifetimes_is_temporary(lifetimes, evidence->heap, index, 0));
	}
	add_change(horizon, sample->time, end, horizon->warm, &one, &sums->kept.gained,
		&sums->kept.lost);
	add_change(horizon, sample->time, end, horizon->middle, &one, &sums->gained_late,
		&sums->lost_late);
}

/* Of many places nothing was lost: that has one interval for all. */
static struct th_estimate
bytes_of(const struct th_judge *judge, const struct th_estimator *sum)
{
	return sum->samples
		       ? th_profile_bytes(judge->profile, judge->heap, TH_MEASURE_LIVE, sum)
		       : judge->nothing;
}

static struct th_estimate
difference(const struct th_judge *judge, const struct th_estimator *more,
	const struct th_estimator *less)
{
	struct th_estimate gained = bytes_of(judge, more);
	struct th_estimate lost = bytes_of(judge, less);

	return th_estimate_difference(&gained, &lost);
}

/* Intervals take long: of what has not grown at all the limit is not asked. */
static double
growth_limit(const struct th_judge *judge, const struct th_estimator *gained,
	const struct th_estimator *lost)
{
	double growth = bytes_in(gained) - bytes_in(lost);

	return growth > 0 ? difference(judge, gained, lost).low : growth;
}

static struct th_estimate
per_second(struct th_estimate estimate, double seconds)
{
	double factor = seconds > 0 ? 1 / seconds : 0;

	estimate.estimate *= factor;
	estimate.low *= factor;
	estimate.high *= factor;
	return estimate;
}

static int
compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Samples stand in the order of the log, which is nearly that of time. */
static void
sort_times(uint64_t *times, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (times[i] < times[i - 1]) {
			qsort(times, count, sizeof(*times), compare_times);
			return;
		}
	}
}

static void
find_ages(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	struct th_judge *judge = look->judge;
	uint64_t horizon = evidence->horizon->horizon;

	if (!judge->all_births_count)
		return;
	sort_times(judge->all_births, judge->all_births_count);
	uint64_t birth = judge->all_births[judge->all_births_count / 2];
	evidence->median_age = horizon > birth ? (double)(horizon - birth) / 1e9 : 0;
	evidence->collections = th_lifetimes_collections(
		&judge->profile->lifetimes, birth, evidence->horizon->end);
}

/*
 * Tests of the times at which survivors were allocated: for a steady leak these are uniform by a
 * clock that counts out how closely was sampled.
 */

/* As lgamma(), which leaves the sign in a variable of all threads. */
static double
log_factorial(uint64_t n)
{
	int sign;

	return lgamma_r((double)n + 1, &sign);
}

/* P(X <= k) of a binomial distribution with 0 < p < 1. */
static double
binomial(uint64_t k, uint64_t n, double p)
{
	double sum = 0;

	for (uint64_t i = 0; i <= k; i++)
		sum += exp(log_factorial(n) - log_factorial(i) - log_factorial(n - i) +
			   (double)i * log(p) + (double)(n - i) * log1p(-p));
	return sum;
}

/* The longest time between survivors by the clock, from the warm-up to the last of them. */
static double
longest_pause(const struct th_judge *judge, const struct th_sampling_clock *clock)
{
	double before = th_sampling_clock_at(clock, judge->births[0]);
	double longest = 0;

	for (size_t i = 1; i < judge->births_count; i++) {
		double now = th_sampling_clock_at(clock, judge->births[i]);

		longest = fmax(longest, now - before);
		before = now;
	}
	return longest;
}

/* A pause at the end that neither chance nor habit explains means that growth ended. */
static bool
goes_on(const struct look *look, const struct th_sampling_clock *clock)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_horizon *horizon = evidence->horizon;
	double length = (double)(horizon->end - horizon->warm);
	double part = length > 0 ? (double)(horizon->end - evidence->last_birth) / length : 1;
	double pause = length > 0 ? 1 - th_sampling_clock_at(clock, evidence->last_birth) : 1;

	evidence->pause_probability = pow(1 - pause, (double)look->judge->births_count);
	return part <= PAUSE_PART || evidence->pause_probability >= UNLIKELY_PAUSE ||
	       pause <= LONGER_PAUSE * longest_pause(look->judge, clock);
}

/*
 * Whether the last quarter of the time has less than half of its due of survivors, and so few
 * samples of them as chance does not explain.
 */
static bool
slows_down(const struct look *look, const struct th_sampling_clock *clock)
{
	struct th_evidence *evidence = look->evidence;
	const uint64_t *births = look->judge->births;
	size_t count = look->judge->births_count;
	uint64_t last = evidence->last_birth;
	uint64_t quarter = last - (last - evidence->horizon->warm) / 4;
	double all = 0;
	double late = 0;

	for (size_t i = 0; i < count; i++) {
		double weight = th_sampling_clock_weight(clock, births[i]);

		all += weight;
		if (births[i] < quarter)
			continue;
		late += weight;
		evidence->born_last_quarter++;
	}
	double before = th_sampling_clock_at(clock, quarter) /
			th_sampling_clock_at(clock, last);
	return 8 * late < all && before > 0 && before < 1 &&
	       binomial(evidence->born_last_quarter, count, 1 - before) < UNLIKELY_QUARTER;
}

/* The mean size of survivors, by which they were sampled. */
static double
size_of_survivors(const struct look *look)
{
	const struct th_estimator *live = &look->sums.kept.live;
	double objects = objects_in(live);

	return objects > 0 ? bytes_in(live) / objects : 0;
}

static void
test_births(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	const uint64_t *births = look->judge->births;
	size_t count = look->judge->births_count;
	struct th_sampling_clock clock;

	evidence->born_since = count;
	if (!count)
		return;
	sort_times(look->judge->births, count);
	th_sampling_clock_init(&clock, &look->judge->density, size_of_survivors(look));
	evidence->last_birth = births[count - 1];
	evidence->is_growing = goes_on(look, &clock);
	evidence->is_slowing = slows_down(look, &clock);
}

/* Of the time in which the heap was sampled. */
static double
seconds_of_growth(const struct th_evidence *evidence, const struct th_profile *profile)
{
	const struct th_horizon *horizon = evidence->horizon;

	if (horizon->horizon <= horizon->warm)
		return 0;
	return (double)th_changes_sampled(
		       profile->recording, evidence->heap, horizon->warm, horizon->horizon) /
	       1e9;
}

/* Verdicts */

static void
decide(struct th_evidence *evidence, enum th_verdict verdict, enum th_reason reason)
{
	evidence->verdict = verdict;
	evidence->reason = reason;
}

static bool
is_kept(const struct th_evidence *evidence)
{
	double old = (double)(evidence->alive_old + evidence->dead_old);

	return (double)evidence->dead_old <= LEAK_FREES * old;
}

static bool
is_spread(const struct th_evidence *evidence)
{
	const struct th_horizon *horizon = evidence->horizon;
	double length = (double)(horizon->horizon - horizon->start);
	uint64_t last = horizon->horizon - horizon->old;

	return evidence->first_birth < last &&
	       (double)(last - evidence->first_birth) >= SPREAD_PART * length;
}

static bool
has_grown(const struct th_evidence *evidence)
{
	return evidence->born_late >= ENOUGH_LATE && evidence->late_low > 0;
}

/*
 * Whether it has grown since the warm-up and nothing says that this is over, though chance left
 * too little of it to the later half.  However much else the place frees, it is no churn.
 */
static bool
may_grow(const struct th_evidence *evidence)
{
	return evidence->whole_low > 0 && evidence->born_late && evidence->is_growing &&
	       !evidence->is_slowing && is_kept(evidence);
}

/*
 * Whether what is in memory grows as a leak does.  Mappings are few and large, so that chunks
 * which an allocator maps and then fills are no evidence by their number; but what they hold is
 * measured at each account, not sampled.
 */
static bool
grows_in_memory(const struct th_evidence *evidence)
{
	const struct th_horizon *horizon = evidence->horizon;
	const struct th_trend *trend = &evidence->trend;
	double length = (double)(horizon->end - horizon->warm);

	return evidence->is_resident && trend->points >= ENOUGH_ACCOUNTS &&
	       trend->probability < UNLIKELY_TREND &&
	       trend->growth_late > evidence->least_growth &&
	       (double)(horizon->end - trend->last_rise) <= PAUSE_PART * length &&
	       trend->last_quarter >= LEAST_QUARTER * trend->growth &&
	       trend->lost <= LEAK_FREES * (trend->growth + trend->lost) &&
	       evidence->released_bytes <=
		       LEAK_FREES * (evidence->released_bytes + evidence->kept_bytes);
}

/* A place that has grown significantly in the later half. */
static void
judge_growth(struct th_evidence *evidence)
{
	if (!evidence->is_growing)
		decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
	else if (evidence->is_slowing)
		decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
	else if (!is_kept(evidence))
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_TURNOVER);
	else if (!evidence->horizon->is_proven)
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
	else if (!is_spread(evidence))
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_LATE);
	else
		decide(evidence, TH_VERDICT_LEAK, TH_REASON_GROWS);
}

static void
find_verdict(struct th_evidence *evidence)
{
	double dead = evidence->allocated ? 1 - evidence->survivors : 0;

	if (!th_horizon_is_far(evidence->horizon))
		decide(evidence, TH_VERDICT_UNCLEAR,
			evidence->heap == TH_HEAP_JAVA ? TH_REASON_NO_COLLECTION
						       : TH_REASON_FEW_SAMPLES);
	else if (has_grown(evidence))
		judge_growth(evidence);
	else if (evidence->allocated < ENOUGH_SAMPLES && evidence->born_since)
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else if (may_grow(evidence))
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else if (dead >= CHURN_FREES)
		decide(evidence, TH_VERDICT_CHURN, TH_REASON_FREED);
	else if (!evidence->is_growing)
		decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_STOPPED);
	else if (evidence->growth.estimate > 0 && is_kept(evidence) && evidence->born_late)
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else
		decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_STEADY);
}

/* The same by what is in memory, where mappings by themselves do not make a leak. */
static void
judge_residency(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	const struct th_judge *judge = look->judge;
	double seconds = seconds_of_growth(evidence, judge->profile);

	if (!judge->resident || evidence->verdict == TH_VERDICT_LEAK ||
		!th_horizon_is_far(evidence->horizon))
		return;
	th_trend_init(&evidence->trend, evidence->horizon, judge->residency->times,
		judge->resident, judge->residency->times_count);
	evidence->least_growth = LEAST_GROWTH_INTERVALS *
				 (double)judge->profile->heaps[evidence->heap].interval;
	if (seconds <= 0 || !grows_in_memory(evidence))
		return;
	decide(evidence, TH_VERDICT_LEAK, TH_REASON_RESIDENT);
	evidence->is_growing = true;
	evidence->growth = th_estimate_exact(
		evidence->trend.growth / seconds, evidence->live_samples);
	look->sums.kept.is_trend = true;
}

void
th_evidence_set_internal(struct th_evidence *evidence)
{
	if (evidence->verdict == TH_VERDICT_LEAK)
		decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_INTERNAL);
}

struct th_outline
th_evidence_outline(const struct th_evidence *evidence)
{
	return (struct th_outline){
		.live = evidence->live,
		.live_bytes = evidence->live_bytes.estimate,
		.survivors = evidence->survivors,
		.pause_probability = evidence->pause_probability,
		.live_samples = evidence->live_samples,
		.allocated = evidence->allocated,
		.verdict = (uint8_t)evidence->verdict,
		.reason = (uint8_t)evidence->reason,
		.is_alive = evidence->alive,
		.has_births = evidence->born_since,
	};
}

bool
th_outline_may_pause(const struct th_outline *outline, size_t places)
{
	return outline->reason == TH_REASON_STOPPED && outline->has_births &&
	       outline->pause_probability * (double)places >= UNLIKELY_PAUSE;
}

void
th_evidence_set_owners_gone(struct th_evidence *evidence)
{
	if (evidence->alive_old >= ENOUGH_SAMPLES && is_kept(evidence))
		decide(evidence, TH_VERDICT_LEAK, TH_REASON_OWNERS_GONE);
}

void
th_judge_init(struct th_judge *judge, enum th_heap heap, const struct th_profile *profile,
	const struct th_horizon *horizon, const struct th_residency *residency)
{
	struct th_estimator none = {0};

	*judge = (struct th_judge){.heap = heap, .profile = profile, .horizon = horizon};
	judge->nothing = th_profile_bytes(profile, heap, TH_MEASURE_LIVE, &none);
	th_density_init(&judge->density, profile->recording, heap, horizon->warm, horizon->end);
	if (heap == TH_HEAP_MAPPED && residency->points_count) {
		judge->residency = residency;
		judge->resident = th_allocate(residency->times_count, sizeof(*judge->resident));
	}
}

void
th_judge_deinit(struct th_judge *judge)
{
	free(judge->resident);
	free(judge->births);
	free(judge->all_births);
}

/* The judge forgets the place before. */
static void
look_init(struct look *look, struct th_evidence *evidence, struct th_judge *judge)
{
	judge->births_count = 0;
	judge->all_births_count = 0;
	if (judge->resident)
		memset(judge->resident, 0,
			judge->residency->times_count * sizeof(*judge->resident));
	*look = (struct look){.evidence = evidence, .judge = judge};
}

static void
set_points(struct look *look)
{
	struct th_evidence *evidence = look->evidence;
	const struct sums *sums = &look->sums;
	double seconds = seconds_of_growth(evidence, look->judge->profile);

	evidence->live = bytes_in(&sums->kept.live);
	evidence->live_samples = sums->kept.live.samples;
	evidence->survivors = sums->allocated > 0 ? sums->alive / sums->allocated : 0;
	evidence->live_bytes = th_estimate_exact(
		bytes_in(evidence->is_resident ? &sums->kept.resident : &sums->kept.live),
		sums->kept.live.samples);
	evidence->live_objects = th_estimate_exact(
		objects_in(&sums->kept.live), sums->kept.live.samples);
	evidence->growth = th_estimate_exact(
		seconds > 0
			? (bytes_in(&sums->kept.gained) - bytes_in(&sums->kept.lost)) / seconds
			: 0,
		sums->kept.gained.samples + sums->kept.lost.samples);
	if (evidence->born_late >= ENOUGH_LATE)
		evidence->late_low = growth_limit(
			look->judge, &sums->gained_late, &sums->lost_late);
	if (evidence->late_low <= 0 && sums->kept.gained.samples >= ENOUGH_LATE)
		evidence->whole_low = growth_limit(
			look->judge, &sums->kept.gained, &sums->kept.lost);
}

struct th_estimate
th_evidence_live(const struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums)
{
	return evidence->is_resident ? th_estimate_bytes(&sums->resident, NULL,
					       judge->profile->heaps[judge->heap].gap)
				     : bytes_of(judge, &sums->live);
}

void
th_evidence_measure(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums)
{
	evidence->live_bytes = th_evidence_live(evidence, judge, sums);
	evidence->live_objects = th_profile_objects(
		judge->profile, judge->heap, TH_MEASURE_LIVE, &sums->live);
	if (!sums->is_trend)
		evidence->growth = per_second(difference(judge, &sums->gained, &sums->lost),
			seconds_of_growth(evidence, judge->profile));
}

void
th_evidence_init(struct th_evidence *evidence, struct th_judge *judge, const uint32_t *samples,
	size_t count, struct th_evidence_sums *sums_ret)
{
	struct look look;

	*evidence = (struct th_evidence){
		.heap = judge->heap, .horizon = judge->horizon, .first_birth = UINT64_MAX};
	look_init(&look, evidence, judge);
	for (size_t i = 0; i < count; i++)
		look_at(&look, samples[i]);
	set_points(&look);
	find_ages(&look);
	test_births(&look);
	find_verdict(evidence);
	judge_residency(&look);
	if (sums_ret)
		*sums_ret = look.sums.kept;
}
