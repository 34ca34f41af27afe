/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict of a site: tests of the times at which survivors were allocated, and the rules of
 * docs/leaks.md in order, each a function of the figures. No samples are read here.
 *
 * The times of a steady leak are uniform on a clock that compensates for changes of the sampling density.
 */
#include "report/leaks/evidence_rules.h"

#include <math.h>

#include "report/statistics/distribution.h"
#include "unify/shared/bisect.h"

/* Sites with fewer gains and losses: 16 KiB of results. */
#define KNOWN_MORE 128
#define KNOWN_LESS 16

const char *const th_verdict_names[] = {
	[TH_VERDICT_LEAK] = "leak",
	[TH_VERDICT_UNCLEAR] = "unclear",
	[TH_VERDICT_PLATEAU] = "plateau",
	[TH_VERDICT_CHURN] = "churn",
};

const char *
th_verdict_name_by(enum th_verdict verdict, enum th_reason reason)
{
	return verdict == TH_VERDICT_LEAK && reason == TH_REASON_UNCLOSED
		       ? "unclosed"
		       : th_verdict_names[verdict];
}

/* Births */

/* The longest time between survivors on the clock, from the warm-up to the last survivor. */
static double
longest_pause(const struct th_judge *judge, const struct th_sampling_clock *clock)
{
	double before = th_sampling_clock_at(clock, judge->births[0].time);
	double longest = 0;

	for (size_t i = 1; i < judge->births_count; i++) {
		double now = th_sampling_clock_at(clock, judge->births[i].time);

		longest = fmax(longest, now - before);
		before = now;
	}
	return longest;
}

/* Samples of the heap up to a time since the warm-up. */
static double
samples_until(const struct th_judge *judge, uint64_t time)
{
	return th_load_samples(&judge->load, (double)judge->horizon->warm, (double)time);
}

/* Whether another heap shows the load of the program: in one with a VM, the Java heap. */
static bool
has_other_load(const struct th_judge *judge)
{
	return judge->program.heap != judge->heap &&
	       judge->program.samples[TH_LOAD_PARTS] >= TH_LOAD_ENOUGH;
}

static double
program_bytes(const struct th_judge *judge, uint64_t from, uint64_t to)
{
	return th_load_bytes(&judge->program, (double)from, (double)to);
}

/*
 * Whether the heap went on allocating after the last survivor: the program did not pause. Few
 * samples do not show that.
 */
static bool
is_active_since(const struct th_judge *judge, uint64_t time, double pause)
{
	double all = samples_until(judge, judge->horizon->end);
	double after = all - samples_until(judge, time);

	return after >= ENOUGH_SAMPLES && after >= ACTIVE_RATE * pause * all;
}

/*
 * Whether the rest of the heap, which had allocated until the last survivor, was idle after it, in a pause of
 * this part of the time; or the program was.
 */
static bool
became_idle(const struct th_judge *judge, uint64_t time, double pause)
{
	const struct th_observation_window *horizon = judge->horizon;
	double until = samples_until(judge, time);
	double others = until - (double)judge->births_count;
	double after = samples_until(judge, horizon->end) - until;

	if (has_other_load(judge) &&
		program_bytes(judge, time, horizon->end) * (1 - pause) <
			IDLE_RATE * pause * program_bytes(judge, horizon->warm, time))
		return true;
	return others >= ENOUGH_SAMPLES && after * (1 - pause) < IDLE_RATE * pause * others;
}

/*
 * The part of the load since the warm-up up to a time, without the `births` survivors of the site up to
 * then; NaN: too few samples show it.
 */
static double
load_until(const struct th_judge *judge, uint64_t time, size_t births)
{
	const struct th_observation_window *horizon = judge->horizon;
	double others = samples_until(judge, horizon->end) - (double)judge->births_count;

	if (has_other_load(judge))
		return program_bytes(judge, horizon->warm, time) /
		       program_bytes(judge, horizon->warm, horizon->end);
	return others >= TH_LOAD_ENOUGH ? (samples_until(judge, time) - (double)births) / others
					: NAN;
}

/*
 * Whether growth began so long after the warm-up that chance does not explain it, and then ended
 * before the end: one step. The final pause counts by the time since growth began.  It is none if the
 * program did next to nothing before and after.
 */
static bool
is_step(struct th_evidence *evidence, const struct th_judge *judge, double lead, double pause,
	double longest)
{
	double count = (double)judge->births_count;

	evidence->is_late = lead > PAUSE_PART && lead > longest &&
			    pow(1 - lead, count) < UNLIKELY_PAUSE;
	if (!evidence->is_late || pause <= longest || lead >= 1 ||
		pow(1 - pause / (1 - lead), count - 1) >= UNLIKELY_PAUSE)
		return false;
	double before = load_until(judge, evidence->first_since, 0);
	double until = load_until(judge, evidence->last_birth, judge->births_count);
	return !(before <= ACTIVE_PAUSE_PART && until >= 1 - ACTIVE_PAUSE_PART);
}

/* A final pause that neither chance nor earlier pauses explain means that growth ended. */
static bool
goes_on(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_observation_window *horizon = evidence->horizon;
	double count = (double)judge->births_count;
	double length = (double)(horizon->end - horizon->warm);
	double part = length > 0 ? (double)(horizon->end - evidence->last_birth) / length : 1;
	double all = th_sampling_clock_at(clock, horizon->end);
	double last = th_sampling_clock_at(clock, evidence->last_birth);
	double lead = all > 0 ? th_sampling_clock_at(clock, evidence->first_since) / all : 0;
	double pause = all > 0 ? 1 - last / all : 1;
	double longest = all > 0 ? LONGER_PAUSE * longest_pause(judge, clock) / all : 0;

	evidence->pause_probability = pow(1 - pause, count);
	evidence->is_step = part > ACTIVE_PAUSE_PART &&
			    is_step(evidence, judge, lead, pause, longest);
	if (evidence->is_step)
		return false;
	if (evidence->pause_probability >= UNLIKELY_PAUSE || pause <= longest ||
		part <= ACTIVE_PAUSE_PART)
		return true;
	if (part <= PAUSE_PART)
		return evidence->pause_probability >= UNLIKELY_ACTIVE_PAUSE ||
		       !is_active_since(judge, evidence->last_birth, pause);
	evidence->is_idle = became_idle(judge, evidence->last_birth, pause);
	return false;
}

/* Whether chance explains how few survivors are late if a part of the load is, and twice as many do not. */
static bool
is_explained(double late, double all, double part)
{
	return part > 0 && late <= 2 * part * all &&
	       (2 * late >= part * all || th_distribution_misses(all - late, late, 1 - part,
						  part, 1) >= UNLIKELY_QUARTER);
}

/*
 * Whether the load explains how few survivors there are from `quarter` on, `before` of which the sampling
 * clock expects earlier: that of the other samples of the heap, or that of the program.
 */
static bool
follows_load(const struct th_evidence *evidence, const struct th_judge *judge, uint64_t quarter,
	double before)
{
	double late = (double)evidence->born_last_quarter;
	double all = (double)judge->births_count;
	double others = samples_until(judge, evidence->last_birth) - all;
	double earlier = samples_until(judge, quarter) - (all - late);

	if (others >= ENOUGH_SAMPLES && is_explained(late, all, 1 - earlier / others))
		return true;
	/* A quarter of the time: the densities are before / 3 and 1 - before. */
	double of_late = program_bytes(judge, quarter, evidence->last_birth) * (1 - before);
	double of_early = program_bytes(judge, judge->horizon->warm, quarter) * before / 3;
	return has_other_load(judge) && is_explained(late, all, of_late / (of_late + of_early));
}

/*
 * Whether the last quarter of the time has less than half of the survivors expected in it, and
 * so few samples of them that neither chance nor the load explains it.
 */
static bool
slows_down(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_birth *births = judge->births;
	size_t count = judge->births_count;
	uint64_t last = evidence->last_birth;
	uint64_t quarter = last - (last - evidence->horizon->warm) / 4;
	double all = 0;
	double late = 0;

	for (size_t i = 0; i < count; i++) {
		double weight = births[i].weight *
				th_sampling_clock_weight(clock, births[i].time);

		all += weight;
		if (births[i].time < quarter)
			continue;
		late += weight;
		evidence->born_last_quarter++;
	}
	double before = th_sampling_clock_at(clock, quarter) /
			th_sampling_clock_at(clock, last);
	double earlier = (double)(count - evidence->born_last_quarter);
	/* Of `count` survivors so many, or more, before the last quarter. */
	return 8 * late < all && before > 0 && before < 1 &&
	       th_distribution_misses(earlier, (double)evidence->born_last_quarter, before,
		       1 - before, 1) < UNLIKELY_QUARTER &&
	       !follows_load(evidence, judge, quarter, before);
}

/*
 * Whether old survivors came throughout the time since the warm-up, as those of a steady leak do:
 * neither their last pause nor the longest of all is improbable, and an end of growth before the
 * last quarter of the time would have been noticed. With n of them, a pause of a share g of the
 * time at the end has the probability (1-g)^n, and one anywhere at most (n+1) (1-g)^n.
 */
static bool
is_steady(const struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_observation_window *horizon = evidence->horizon;
	uint64_t end = horizon->horizon - horizon->old;
	double n = (double)evidence->kept_since;
	double before = 0;
	double longest = 0;

	if (!evidence->kept_since || end <= horizon->warm)
		return false;
	double all = th_sampling_clock_at(clock, end);
	uint64_t last_part = (uint64_t)(NOTICED_PAUSE_PART * (double)(end - horizon->warm));
	double noticed = 1 - th_sampling_clock_at(clock, end - last_part) / all;
	for (size_t i = evidence->alive_old - evidence->kept_since; i < evidence->alive_old;
		i++) {
		double now = th_sampling_clock_at(clock, judge->survivors[i].time) / all;

		longest = fmax(longest, now - before);
		before = now;
	}
	return pow(1 - noticed, n) <= UNLIKELY_PAUSE && pow(before, n) >= UNLIKELY_PAUSE &&
	       (n + 1) * pow(1 - fmax(longest, 1 - before), n) >= UNLIKELY_PAUSE;
}

double
th_chance_of_more(uint64_t more, uint64_t less)
{
	/* The results of this thread for small sites, which are most; 0: not computed. */
	static __thread double known[KNOWN_MORE][KNOWN_LESS];
	bool is_kept = more < KNOWN_MORE && less < KNOWN_LESS;
	double chance = is_kept ? known[more][less] : 0;

	if (!(chance > 0))
		chance = th_distribution_misses((double)more, (double)less, 0.5, 0.5, 1);
	if (is_kept)
		known[more][less] = chance;
	return chance;
}

/*
 * If only blocks of a certain age show growth, younger survivors say nothing: those in use for a
 * time would hide that growth ended.
 */
static void
find_births(struct th_judge *judge, const struct th_observation_window *horizon)
{
	const struct th_birth *all = judge->survivors;
	size_t before = th_bisect(judge->survivors_count, i, all[i].time < horizon->warm);
	size_t end = th_bisect(judge->survivors_count, i, all[i].time <= horizon->end);

	judge->births_count = end > before ? end - before : 0;
	judge->births = judge->births_count ? all + before : NULL;
}

void
th_evidence_test_births(struct th_evidence *evidence, struct th_judge *judge, double size)
{
	struct th_sampling_clock clock;
	size_t count;

	find_births(judge, evidence->horizon);
	evidence->born_since = count = judge->births_count;
	if (!count)
		return;
	th_sampling_clock_init(&clock, &judge->density, size);
	evidence->first_since = judge->births[0].time;
	evidence->last_birth = judge->births[count - 1].time;
	evidence->is_growing = goes_on(evidence, judge, &clock);
	evidence->is_slowing = slows_down(evidence, judge, &clock);
	evidence->is_steady = is_steady(evidence, judge, &clock);
}

/* Verdicts */

void
th_evidence_decide(struct th_evidence *evidence, enum th_verdict verdict, enum th_reason reason)
{
	evidence->verdict = verdict;
	evidence->reason = reason;
}

bool
th_evidence_keeps_old(const struct th_evidence *evidence)
{
	double old = (double)(evidence->alive_old + evidence->dead_old);

	return (double)evidence->dead_old <= LEAK_FREES * old;
}

static bool
is_spread(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
	double length = (double)(horizon->horizon - horizon->start);
	uint64_t last = horizon->horizon - horizon->old;
	double part = evidence->is_late ? LATE_SPREAD_PART : SPREAD_PART;

	return evidence->first_birth < last &&
	       (double)(last - evidence->first_birth) >= part * length;
}

/* As far as numbers of samples show it. */
static bool
may_have_grown(const struct th_evidence *evidence)
{
	return evidence->born_late >= ENOUGH_LATE && evidence->chance <= evidence->chance_limit;
}

/* Intervals are slow to compute, so numbers of samples are tested first. */
static bool
grew_late(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return may_have_grown(evidence) &&
	       th_evidence_growth_limit(judge, evidence, &evidence->sums.gained_late,
		       &evidence->sums.lost_late) > 0;
}

static bool
grew_since_warm(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return evidence->sums.gained.samples >= ENOUGH_LATE &&
	       th_evidence_growth_limit(
		       judge, evidence, &evidence->sums.gained, &evidence->sums.lost) > 0;
}

/*
 * Whether growth since the warm-up is possible as far as numbers of samples show it, with no old
 * block freed. Without growth, gained and lost samples are Poisson-distributed with equal means, and
 * the probability of k gains without a loss is at most max e^-m P(Poisson(m) >= k): a quarter of the
 * sign test's limit. That test has at most 3/4 of it, so both keep to the limit (test_error_rate).
 */
static bool
may_have_grown_throughout(const struct th_evidence *evidence)
{
	return evidence->heap != TH_HEAP_MAPPED && evidence->is_steady && !evidence->dead_old &&
	       th_chance_of_more(evidence->kept_since, 0) <= evidence->chance_limit;
}

static bool
has_grown(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return grew_late(evidence, judge) ||
	       (may_have_grown_throughout(evidence) && grew_since_warm(evidence, judge));
}

static bool
shows_no_end(const struct th_evidence *evidence)
{
	return evidence->born_late && evidence->is_growing && !evidence->is_slowing &&
	       (th_evidence_keeps_old(evidence) || evidence->chance <= HINT_OF_GROWTH);
}

static bool
is_too_small(const struct th_evidence *evidence)
{
	return evidence->allocated < ENOUGH_SAMPLES && evidence->born_since;
}

/*
 * Whether it has grown since the warm-up without evidence that growth ended, although growth in
 * the later half is not significant. Such a site is not churn, whatever else it frees; but if
 * it frees old blocks too, the later half has to hint at growth.
 */
static bool
may_grow(const struct th_evidence *evidence, const struct th_judge *judge)
{
	return shows_no_end(evidence) && grew_since_warm(evidence, judge);
}

/*
 * Whether resident memory grows as a leak does. Mappings are few and large, so the number of
 * chunks that an allocator maps and then fills is no evidence; but their resident bytes are
 * measured at each snapshot, not sampled.
 */
static bool
grows_in_memory(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
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

/*
 * Whether more is mapped all the time, but next to nothing of it is used: files that are
 * preallocated, for example.  Resident bytes are measured, so two snapshots show it.
 */
static bool
is_empty(const struct th_evidence *evidence)
{
	return evidence->is_resident && evidence->trend.spans_middle &&
	       evidence->trend.growth_late <= evidence->least_growth;
}

/*
 * Whether an array or buffer is enlarged all the time: its blocks are few and ever larger, and at most
 * two are alive.  The last one was made after half of the load: one that grows with it is doubled then.
 */
static bool
is_enlarged(const struct th_evidence *evidence, const struct th_judge *judge)
{
	double start = (double)evidence->horizon->start, end = (double)evidence->horizon->end;
	double middle = judge->program.samples[TH_LOAD_PARTS] >= TH_LOAD_ENOUGH
				? th_load_time(&judge->program, start, end, ENLARGED_AFTER)
				: (double)evidence->horizon->middle;

	return evidence->ascending >= ENOUGH_ASCENDING && evidence->alive &&
	       evidence->alive <= 2 && (double)evidence->last_birth > middle &&
	       evidence->born_since;
}

/* What it grew by is what it has become. */
static void
decide_enlarged(struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_ENLARGED);
	evidence->growth = th_estimate_exact(
		evidence->live / ((double)(horizon->end - horizon->start) / 1e9),
		evidence->live_samples);
	evidence->is_trend = true;
}

/* Whether it grew as long as the program worked, for a good part of the time; the rest shows nothing. */
static bool
grew_until_idle(const struct th_evidence *evidence, const struct th_judge *judge)
{
	const struct th_observation_window *horizon = evidence->horizon;

	return evidence->is_idle && !evidence->is_slowing && th_evidence_keeps_old(evidence) &&
	       !isnan(load_until(judge, evidence->last_birth, judge->births_count)) &&
	       (double)(evidence->last_birth - horizon->warm) >=
		       LOAD_PART * (double)(horizon->end - horizon->warm) &&
	       th_chance_of_more(evidence->kept_since, 0) <= evidence->chance_limit &&
	       th_evidence_growth_limit(
		       judge, evidence, &evidence->sums.gained, &evidence->sums.lost) > 0;
}

static void
decide_ended(struct th_evidence *evidence)
{
	th_evidence_decide(evidence, TH_VERDICT_PLATEAU,
		evidence->is_step ? TH_REASON_STEP : TH_REASON_STOPPED);
}

/* For a site that has grown significantly in the later half. */
static void
judge_growth(struct th_evidence *evidence)
{
	if (evidence->is_slowing)
		th_evidence_decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_SLOWED);
	else if (!th_evidence_keeps_old(evidence))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_TURNOVER);
	else if (evidence->alive_old < evidence->enough_old)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else if (!evidence->horizon->is_proven)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_UNPROVEN);
	else if (!is_spread(evidence))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_LATE);
	else
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_GROWS);
	if (evidence->is_growing)
		return;
	if (evidence->is_idle && evidence->verdict == TH_VERDICT_LEAK)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_IDLE);
	else
		decide_ended(evidence);
}

void
th_evidence_find_verdict(struct th_evidence *evidence, const struct th_judge *judge)
{
	double dead = evidence->allocated ? 1 - evidence->survivors : 0;

	if (!th_observation_window_is_far(evidence->horizon))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR,
			evidence->heap == TH_HEAP_JAVA ? TH_REASON_NO_COLLECTION
						       : TH_REASON_FEW_SAMPLES);
	else if (has_grown(evidence, judge))
		judge_growth(evidence);
	else if (is_too_small(evidence))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else if (is_enlarged(evidence, judge))
		decide_enlarged(evidence);
	else if (may_grow(evidence, judge))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR,
			th_evidence_keeps_old(evidence) ? TH_REASON_FEW_SAMPLES
							: TH_REASON_TURNOVER);
	else if (dead >= CHURN_FREES)
		th_evidence_decide(evidence, TH_VERDICT_CHURN, TH_REASON_FREED);
	else if (grew_until_idle(evidence, judge))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_IDLE);
	else if (!evidence->is_growing)
		decide_ended(evidence);
	else if (evidence->growth.estimate > 0 && th_evidence_keeps_old(evidence) &&
		 evidence->born_late)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else
		th_evidence_decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_STEADY);
}

void
th_evidence_judge_residency(struct th_evidence *evidence, const struct th_judge *judge)
{
	double seconds = judge->seconds;

	if (!judge->resident || !th_observation_window_is_far(evidence->horizon))
		return;
	th_trend_init(&evidence->trend, evidence->horizon, judge->residency->times,
		judge->resident, judge->residency->times_count);
	evidence->least_growth = LEAST_GROWTH_INTERVALS *
				 (double)judge->profile->heaps[evidence->heap].interval;
	if (evidence->verdict == TH_VERDICT_LEAK && is_empty(evidence) && seconds > 0)
		th_evidence_decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_UNUSED);
	else if (evidence->verdict == TH_VERDICT_LEAK || seconds <= 0 ||
		 !grows_in_memory(evidence))
		return;
	else
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_RESIDENT);
	evidence->is_growing = true;
	evidence->growth = th_estimate_exact(
		evidence->trend.growth / seconds, evidence->live_samples);
	evidence->is_trend = true;
}

void
th_evidence_set_internal(struct th_evidence *evidence)
{
	if (evidence->verdict == TH_VERDICT_LEAK)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_INTERNAL);
}

bool
th_outline_may_pause(const struct th_outline *outline, size_t places)
{
	return outline->reason == TH_REASON_STOPPED && outline->has_births &&
	       outline->pause_probability * (double)places >= UNLIKELY_PAUSE;
}

bool
th_outline_may_belong(const struct th_outline *outline)
{
	return outline->is_alive &&
	       (outline->verdict == TH_VERDICT_UNCLEAR ||
		       (outline->verdict == TH_VERDICT_PLATEAU && outline->has_births &&
			       outline->reason == TH_REASON_STEADY && outline->is_kept &&
			       outline->gained_late < ENOUGH_LATE));
}

void
th_evidence_set_owners_gone(struct th_evidence *evidence, const struct th_judge *judge)
{
	/* Those of blocks that collections free were found dead by these collections. */
	if (evidence->reason != TH_REASON_UNCLOSED && evidence->alive_old >= ENOUGH_SAMPLES &&
		th_evidence_keeps_old(evidence) &&
		th_evidence_growth_limit(
			judge, evidence, &evidence->sums.gained, &evidence->sums.lost) > 0)
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_OWNERS_GONE);
}

double
th_released_part(const struct th_evidence *evidence)
{
	return evidence->live > 0 ? evidence->freed_after / evidence->live : 0;
}

bool
th_released_only_at_exit(const struct th_profile *profile, const struct th_evidence *evidence)
{
	return th_profile_is_before_teardown(profile) &&
	       th_released_part(evidence) >= RELEASED_PART;
}
