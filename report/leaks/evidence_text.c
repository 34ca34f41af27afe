/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence that explains a verdict, with its numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/format.h"
#include "report/leaks/evidence.h"

static double
seconds_between(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / 1e9 : 0;
}

static struct th_number
time_between(uint64_t from, uint64_t to)
{
	return th_format_time(seconds_between(from, to));
}

/* Room for a rate and its interval. */
struct rate {
	char text[120];
};

/* "1.2 MiB/s (1.0 .. 1.5 MiB/s)" */
static struct rate
format_growth(const struct th_evidence *evidence)
{
	struct rate rate;

	snprintf(rate.text, sizeof(rate.text), "%s/s (%s%s)",
		th_format_number(evidence->growth.estimate, TH_UNIT_BYTES).text,
		th_estimate_interval(&evidence->growth, TH_UNIT_BYTES).text,
		evidence->growth.exact ? "" : "/s");
	return rate;
}

/* "3 of the 120 samples that lived longer than 1.2 s were freed" */
static char *
describe_old(const struct th_evidence *evidence)
{
	return th_format_new("%" PRIu64 " of the %" PRIu64
			     " samples that lived longer than %s were freed",
		evidence->dead_old, evidence->dead_old + evidence->alive_old,
		th_format_seconds((double)evidence->horizon->old / 1e9).text);
}

static char *
explain_leak(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
	char *old = describe_old(evidence);
	char *text = th_format_new("grew by %s from %s s to %s s and is still growing, "
				   "%.0f %% of its objects survive, and %s",
		format_growth(evidence).text, time_between(horizon->origin, horizon->warm).text,
		time_between(horizon->origin, horizon->horizon).text, 100 * evidence->survivors,
		old);

	free(old);
	return text;
}

static char *
explain_resident(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
	const struct th_trend *trend = &evidence->trend;

	return th_format_new("its resident memory grew by %s/s from %s s to %s s and is still "
			     "growing, over %" PRIu32
			     " snapshots (trend test: p = %.2g), and %s of it was released",
		th_format_number(evidence->growth.estimate, TH_UNIT_BYTES).text,
		time_between(horizon->origin, horizon->warm).text,
		time_between(horizon->origin, horizon->horizon).text, trend->points,
		trend->probability,
		trend->lost > 0 ? th_format_number(trend->lost, TH_UNIT_BYTES).text : "none");
}

/* Growth as though no collection had run. */
static char *
explain_unclosed(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	return th_format_new("without GCs it grows by %s from %s s to %s s: of the %" PRIu64
			     " samples that were freed after more than %s, GCs freed %" PRIu64
			     ", %s",
		format_growth(evidence).text, time_between(horizon->origin, horizon->warm).text,
		time_between(horizon->origin, horizon->horizon).text,
		evidence->collected + evidence->closed,
		th_format_seconds((double)horizon->old / 1e9).text, evidence->collected,
		th_format_number(evidence->collected_bytes, TH_UNIT_BYTES).text);
}

/* Includes the duration at which growth at this rate would be significant. */
static char *
explain_few(const struct th_evidence *evidence)
{
	double duration = seconds_between(evidence->horizon->start, evidence->horizon->end);
	double longer;

	if (!evidence->allocated)
		return th_format_new(
			"all of it was allocated after the last GC that shows which objects "
			"died");
	if (!evidence->born_late)
		return th_format_new("%" PRIu64
				     " %s too few for a verdict: record longer, or at a "
				     "smaller sampling interval",
			evidence->allocated,
			evidence->allocated == 1 ? "sample is" : "samples are");
	longer = fmax(7.0 / (double)evidence->born_late, 1.2);
	if (evidence->alive_old)
		longer = fmax(longer,
			1.2 * (double)evidence->enough_old / (double)evidence->alive_old);
	return th_format_new(
		"%" PRIu64 " old survivors were sampled in the later half, too few for "
		"significant growth: at this rate a recording of about %s would be "
		"enough, or a smaller sampling interval",
		evidence->born_late, th_format_seconds(duration * longer).text);
}

static char *
explain_no_collection(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	if (horizon->horizon <= horizon->start)
		return th_format_new(
			"no GC has shown which objects died: record longer, or request a full "
			"GC");
	return th_format_new("the last GC was at %s of %s s, and reachability of younger "
			     "objects is unknown: record longer, or request a full GC",
		time_between(horizon->origin, horizon->horizon).text,
		time_between(horizon->origin, horizon->end).text);
}

static char *
explain_unproven(const struct th_evidence *evidence)
{
	return th_format_new(
		"grows by %s, but there was no recent old-generation GC, so "
		"its old objects may be garbage: record longer, or request a full GC",
		format_growth(evidence).text);
}

static char *
explain_dropped(const struct th_evidence *evidence)
{
	return th_format_new(
		"grew by %s, but at exit all of it, %s, was garbage: a leak that the program "
		"dropped when it ended, or garbage of the old generation",
		format_growth(evidence).text,
		th_format_number(evidence->collected_bytes, TH_UNIT_BYTES).text);
}

static char *
explain_turnover(const struct th_evidence *evidence)
{
	char *old = describe_old(evidence);
	char *text = th_format_new(
		"grows by %s, but %s: a structure that is still being filled, or "
		"one that is emptied from time to time; a recording several times "
		"as long would show which",
		format_growth(evidence).text, old);

	free(old);
	return text;
}

static char *
explain_late(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	return th_format_new("grows by %s, but only since %s s of %s s: record for about "
			     "%s to see whether it stops",
		format_growth(evidence).text,
		time_between(horizon->origin, evidence->first_birth).text,
		time_between(horizon->origin, horizon->end).text,
		th_format_seconds(2 * seconds_between(horizon->start, horizon->end)).text);
}

static char *
explain_steady(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;
	char *old, *text;

	if (evidence->growth.low <= 0)
		return th_format_new("does not grow significantly: its old blocks change by %s",
			format_growth(evidence).text);
	old = describe_old(evidence);
	text = th_format_new(
		"grew by %s from %s s to %s s, but not significantly in the later half "
		"of that time, and %s",
		format_growth(evidence).text, time_between(horizon->origin, horizon->warm).text,
		time_between(horizon->origin, horizon->horizon).text, old);
	free(old);
	return text;
}

static char *
explain_plateau(const struct th_evidence *evidence)
{
	const struct th_observation_window *horizon = evidence->horizon;

	switch (evidence->reason) {
	case TH_REASON_STOPPED:
		if (!evidence->born_since)
			return th_format_new(
				"no survivor was allocated after the first %s s of "
				"%s s",
				time_between(horizon->start, horizon->warm).text,
				time_between(horizon->start, horizon->end).text);
		return th_format_new("the last survivor was allocated at %s s of %s s",
			time_between(horizon->origin, evidence->last_birth).text,
			time_between(horizon->origin, horizon->end).text);
	case TH_REASON_STEP:
		return th_format_new("grew only from %s s to %s s of %s s",
			time_between(horizon->origin, evidence->first_since).text,
			time_between(horizon->origin, evidence->last_birth).text,
			time_between(horizon->origin, horizon->end).text);
	case TH_REASON_SLOWED:
		return th_format_new("growth is ending: %" PRIu64 " of %" PRIu64
				     " survivors were allocated in the last quarter of the "
				     "time",
			evidence->born_last_quarter, evidence->born_since);
	default:
		return explain_steady(evidence);
	}
}

/* Few samples can hide growth: its upper limit is printed if the estimate is positive. */
static char *
explain_churn(const struct th_evidence *evidence)
{
	char *freed = th_format_new("%.0f %% of its objects were freed, %" PRIu64 " of %" PRIu64
				    " samples, and its old blocks ",
		100 * (1 - evidence->survivors), evidence->dead, evidence->allocated);
	char *text =
		evidence->growth.estimate > 0
			? th_format_new("%sdo not grow significantly, by at most %s/s", freed,
				  th_format_number(evidence->growth.high, TH_UNIT_BYTES).text)
			: th_format_new("%sdo not grow", freed);

	free(freed);
	return text;
}

char *
th_evidence_explain(const struct th_evidence *evidence)
{
	switch (evidence->reason) {
	case TH_REASON_GROWS:
		return explain_leak(evidence);
	case TH_REASON_RESIDENT:
		return explain_resident(evidence);
	case TH_REASON_OWNERS_GONE:
		return th_format_new(
			"the Java objects that own these blocks were collected, but the "
			"blocks were not freed: %.0f %% of them survive",
			100 * evidence->survivors);
	case TH_REASON_UNCLOSED:
		return evidence->collected ? explain_unclosed(evidence)
					   : explain_leak(evidence);
	case TH_REASON_FEW_SAMPLES:
		return explain_few(evidence);
	case TH_REASON_LATE:
		return explain_late(evidence);
	case TH_REASON_TURNOVER:
		return explain_turnover(evidence);
	case TH_REASON_UNPROVEN:
		return explain_unproven(evidence);
	case TH_REASON_DROPPED:
		return explain_dropped(evidence);
	case TH_REASON_NO_COLLECTION:
		return explain_no_collection(evidence);
	case TH_REASON_INTERNAL:
		return th_format_new(
			"grows by %s, but is allocated by the Java VM for itself and "
			"not for the application",
			format_growth(evidence).text);
	case TH_REASON_FREED:
		return explain_churn(evidence);
	case TH_REASON_UNUSED:
		return th_format_new("more is mapped all the time, but its resident memory "
				     "grew by only %s in the later half of the time",
			th_format_number(evidence->trend.growth_late > 0
						 ? evidence->trend.growth_late
						 : 0,
				TH_UNIT_BYTES)
				.text);
	default:
		return explain_plateau(evidence);
	}
}
