/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of the figures of a site, from the sums over its samples. */
#include <math.h>

#include "report/leaks/evidence_rules.h"
#include "report/statistics/sampling_changes.h"

/* Live bytes before the full GC at exit: what is in use after it is no limit for them. */
static struct th_estimate
bytes_before_exit(
	const struct th_judge *judge, const struct th_estimator *sum, enum th_limit which)
{
	const struct th_profile *profile = judge->profile;
	struct th_calibration calibration = th_lifetimes_calibration(&profile->lifetimes,
		&profile->heaps[judge->heap], judge->heap, &profile->at, sum->samples);

	return th_calibration_bytes_limit(&calibration, sum, which);
}

/*
 * Many sites lost nothing. Their interval is the same for all, unless only some objects are
 * followed: then it is wider by the number of samples that each followed sample represents.
 */
static struct th_estimate
bytes_of(const struct th_judge *judge, const struct th_evidence_sums *sums,
	const struct th_estimator *sum, enum th_limit which)
{
	struct th_estimate nothing = judge->nothing;

	if (sum->samples && sums->is_before_exit && sum != &sums->live)
		return bytes_before_exit(judge, sum, which);
	if (sum->samples)
		return th_profile_bytes_limit(
			judge->profile, judge->heap, TH_MEASURE_LIVE, sum, which);
	if (sums->samples > 0)
		nothing.high *= sums->followed / sums->samples;
	return nothing;
}

/*
 * Old blocks that died: without a sample of them, or with few, the upper limit depends on how
 * sparsely they may have been sampled. A site with many samples shows that itself, also where
 * the heap as a whole was sampled more sparsely for some time.
 */
static struct th_estimate
lost_bytes(const struct th_judge *judge, const struct th_evidence_sums *sums,
	const struct th_estimator *sum, enum th_limit which)
{
	double gap = th_mean_interval_thin(&sums->gaps);

	if (sums->samples < ENOUGH_FOR_GAP || judge->profile->lifetimes.followed || gap <= 0 ||
		gap >= judge->profile->heaps[judge->heap].gap)
		return bytes_of(judge, sums, sum, which);
	return th_estimate_bytes_limit(sum, NULL, gap * judge->thinning, which);
}

/* Intervals are slow to compute: the limit is skipped for sites that have not grown at all. */
double
th_evidence_growth_limit(const struct th_judge *judge, const struct th_evidence_sums *sums,
	const struct th_estimator *gained, const struct th_estimator *lost)
{
	double growth = th_evidence_bytes_in(gained) - th_evidence_bytes_in(lost);

	if (growth <= 0)
		return growth;
	struct th_estimate more = bytes_of(judge, sums, gained, TH_LIMIT_LOW);
	struct th_estimate less = lost_bytes(judge, sums, lost, TH_LIMIT_HIGH);
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

static struct th_estimate
per_second(struct th_estimate estimate, double seconds)
{
	double factor = seconds > 0 ? 1 / seconds : 0;

	estimate.estimate *= factor;
	estimate.low *= factor;
	estimate.high *= factor;
	return estimate;
}

/* Counts only time in which the heap was sampled. */
double
th_evidence_seconds(const struct th_judge *judge)
{
	const struct th_observation_window *horizon = judge->horizon;

	if (horizon->horizon <= horizon->warm)
		return 0;
	return (double)th_sampling_changes_sampled(judge->profile->recording, judge->heap,
		       horizon->warm, horizon->horizon) /
	       1e9;
}

static struct th_estimate
live_bytes(const struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums, enum th_limit which)
{
	return evidence->is_resident ? th_estimate_bytes_limit(&sums->resident, NULL,
					       judge->profile->heaps[judge->heap].gap, which)
				     : bytes_of(judge, sums, &sums->live, which);
}

double
th_evidence_live_low(const struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums)
{
	return live_bytes(evidence, judge, sums, TH_LIMIT_LOW).low;
}

static struct th_estimate
growth_of(const struct th_judge *judge, const struct th_evidence_sums *sums)
{
	struct th_estimate gained = bytes_of(judge, sums, &sums->gained, TH_LIMIT_BOTH);
	struct th_estimate lost = lost_bytes(judge, sums, &sums->lost, TH_LIMIT_BOTH);

	return per_second(th_estimate_difference(&gained, &lost), judge->seconds);
}

void
th_evidence_measure(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_evidence_sums *sums)
{
	evidence->live_bytes = live_bytes(evidence, judge, sums, TH_LIMIT_BOTH);
	evidence->live_objects = th_profile_objects(
		judge->profile, judge->heap, TH_MEASURE_LIVE, &sums->live);
	if (!sums->is_trend)
		evidence->growth = growth_of(judge, sums);
}
