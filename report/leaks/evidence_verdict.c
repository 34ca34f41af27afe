/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict of a site by its figures: the rules of docs/leaks.md in order, each a function of
 * struct th_evidence. No samples are read here.
 */
#include "report/leaks/evidence_rules.h"

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

bool
th_evidence_grew_late(const struct th_evidence *evidence)
{
	return may_have_grown(evidence) && evidence->late_low > 0;
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
	       evidence->chance_since <= evidence->chance_limit;
}

static bool
has_grown(const struct th_evidence *evidence)
{
	return th_evidence_grew_late(evidence) ||
	       (may_have_grown_throughout(evidence) && evidence->whole_low > 0);
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
may_grow(const struct th_evidence *evidence)
{
	return evidence->whole_low > 0 && shows_no_end(evidence);
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
	if (!evidence->is_growing)
		decide_ended(evidence);
	else if (evidence->is_slowing)
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
}

bool
th_evidence_needs_limits(const struct th_evidence *evidence)
{
	return th_observation_window_is_far(evidence->horizon) &&
	       (may_have_grown(evidence) || may_have_grown_throughout(evidence) ||
		       (!is_too_small(evidence) && shows_no_end(evidence)));
}

void
th_evidence_find_verdict(struct th_evidence *evidence)
{
	double dead = evidence->allocated ? 1 - evidence->survivors : 0;

	if (!th_observation_window_is_far(evidence->horizon))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR,
			evidence->heap == TH_HEAP_JAVA ? TH_REASON_NO_COLLECTION
						       : TH_REASON_FEW_SAMPLES);
	else if (has_grown(evidence))
		judge_growth(evidence);
	else if (is_too_small(evidence))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else if (may_grow(evidence))
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR,
			th_evidence_keeps_old(evidence) ? TH_REASON_FEW_SAMPLES
							: TH_REASON_TURNOVER);
	else if (dead >= CHURN_FREES)
		th_evidence_decide(evidence, TH_VERDICT_CHURN, TH_REASON_FREED);
	else if (!evidence->is_growing)
		decide_ended(evidence);
	else if (evidence->growth.estimate > 0 && th_evidence_keeps_old(evidence) &&
		 evidence->born_late)
		th_evidence_decide(evidence, TH_VERDICT_UNCLEAR, TH_REASON_FEW_SAMPLES);
	else
		th_evidence_decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_STEADY);
}

bool
th_evidence_is_dropped(const struct th_evidence *evidence)
{
	double old = (double)(evidence->alive_old + evidence->dead_at_exit);

	return evidence->dead_at_exit >= ENOUGH_SAMPLES &&
	       (double)evidence->alive_old <= LEAK_FREES * old;
}

bool
th_evidence_is_collected(const struct th_evidence *evidence)
{
	return evidence->collected >= ENOUGH_SAMPLES && evidence->left <= evidence->collected &&
	       (double)evidence->closed <=
		       LEAK_FREES * (double)(evidence->collected + evidence->closed);
}

bool
th_evidence_frees_old(const struct th_evidence *evidence)
{
	return !th_evidence_keeps_old(evidence) && evidence->alive_old >= ENOUGH_LATE;
}

bool
th_evidence_judge_residency(
	struct th_evidence *evidence, const struct th_judge *judge, double seconds)
{
	if (!judge->resident || !th_observation_window_is_far(evidence->horizon))
		return false;
	th_trend_init(&evidence->trend, evidence->horizon, judge->residency->times,
		judge->resident, judge->residency->times_count);
	evidence->least_growth = LEAST_GROWTH_INTERVALS *
				 (double)judge->profile->heaps[evidence->heap].interval;
	if (evidence->verdict == TH_VERDICT_LEAK && is_empty(evidence) && seconds > 0)
		th_evidence_decide(evidence, TH_VERDICT_PLATEAU, TH_REASON_UNUSED);
	else if (evidence->verdict == TH_VERDICT_LEAK || seconds <= 0 ||
		 !grows_in_memory(evidence))
		return false;
	else
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_RESIDENT);
	evidence->is_growing = true;
	evidence->growth = th_estimate_exact(
		evidence->trend.growth / seconds, evidence->live_samples);
	return true;
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
th_evidence_set_owners_gone(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums)
{
	/* Those of blocks that collections free were found dead by these collections. */
	if (evidence->reason != TH_REASON_UNCLOSED && evidence->alive_old >= ENOUGH_SAMPLES &&
		th_evidence_keeps_old(evidence) &&
		th_evidence_growth_limit(judge, sums, &sums->gained, &sums->lost) > 0)
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
