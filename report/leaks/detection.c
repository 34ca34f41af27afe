/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detection limit. A steady leak of r bytes per second has a Poisson number of old survivors
 * from the later half, of mean m = r * X, where X is the integral of the sampling density (1 /
 * gap) over the time in which they were allocated. It is found if that number is at least k,
 * the smallest that passes the sign test and has a lower limit above 0, and if the tests of
 * births do not take a chance for the end of growth:
 *
 *     P(Poisson(m) >= k) (1 - P(pause) - P(slow)) = 0.95
 */
#include "report/leaks/detection.h"

#include <math.h>

#include "report/leaks/evidence_rules.h"

/* No recording needs more survivors than this. */
#define HITS_MAX 1000
#define BISECTIONS 60

/*
 * Samples per byte in a part of the time; infinite: every allocation is sampled. Without samples
 * since the warm-up only the gap of the whole heap is known.
 */
static double
density_in(const struct th_judge *judge, unsigned part)
{
	const struct th_sampling_density_part *item = &judge->density.parts[part];
	double gap = judge->profile->heaps[judge->heap].gap;

	if (item->interval > 0)
		return item->sampled * item->keep / item->interval;
	return gap > 0 ? item->sampled / gap : HUGE_VAL;
}

/* The integral of the density between two times; before the warm-up it is that after it. */
static double
exposure(const struct th_judge *judge, uint64_t from, uint64_t to)
{
	const struct th_sampling_density *density = &judge->density;
	double length = (double)(density->to - density->from);
	double start = ((double)from - (double)density->from) / length * TH_DENSITY_PARTS;
	double end = ((double)to - (double)density->from) / length * TH_DENSITY_PARTS;
	double sum = start < 0 ? -start * density_in(judge, 0) : 0;

	for (unsigned i = 0; i < TH_DENSITY_PARTS; i++) {
		double share = fmin(end, i + 1) - fmax(start, i);

		if (share > 0)
			sum += share * density_in(judge, i);
	}
	return sum * length / TH_DENSITY_PARTS / 1e9;
}

/* P(Poisson(mean) >= hits). */
static double
poisson_at_least(double mean, uint32_t hits)
{
	double term = exp(-mean);
	double below = 0;

	for (uint32_t i = 0; i < hits; i++) {
		below += term;
		term *= mean / (i + 1);
	}
	return 1 - below;
}

/*
 * The probability that a leak with this mean is found; `births` is the factor to the mean
 * number of survivors since the warm-up, which a pause of PAUSE_PART of the time leaves out.
 */
static double
power_of(double mean, uint32_t hits, double births)
{
	double pause = fmin(exp(-mean * births * PAUSE_PART), UNLIKELY_PAUSE);

	return poisson_at_least(mean, hits) *
	       (1 - pause - UNLIKELY_ACTIVE_PAUSE - UNLIKELY_QUARTER);
}

static double
mean_for_power(uint32_t hits, double births)
{
	double low = 0;
	double high = 4.0 * hits + 100;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (power_of(middle, hits, births) < TH_DETECTION_POWER)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The smallest number of survivors of a later half without deaths that is significant. */
static uint32_t
hits_needed(const struct th_judge *judge, double gap)
{
	uint32_t hits = ENOUGH_LATE;

	if (judge->profile->lifetimes.followed)
		hits = ENOUGH_FOLLOWED;
	while (hits < HITS_MAX &&
		(th_chance_of_more(hits, 0) > judge->chance_limit * FIRST_LOOK ||
			th_evidence_limit_of_hits(judge, hits, gap) <= 0))
		hits++;
	return hits;
}

double
th_detection_limit_of_few(const struct th_judge *judge)
{
	const struct th_observation_window *horizon = judge->horizon;
	double exposed = exposure(judge, horizon->warm, horizon->end);
	double gap = exposed > 0 ? (double)(horizon->end - horizon->warm) / 1e9 / exposed : 0;

	if (horizon->end <= horizon->warm || exposed <= 0)
		return HUGE_VAL;
	if (judge->activity[TH_DENSITY_PARTS] >= hits_needed(judge, gap))
		return HUGE_VAL;
	return isinf(exposed) ? 0 : mean_for_power(hits_needed(judge, gap), 1) / exposed;
}

double
th_detection_limit(const struct th_judge *judge)
{
	const struct th_observation_window *horizon = judge->horizon;
	uint64_t from = horizon->middle - horizon->old;
	uint64_t to = horizon->horizon - horizon->old;
	double late, since, gap;
	uint32_t hits;

	if (horizon->horizon <= horizon->middle || horizon->end <= horizon->warm)
		return HUGE_VAL;
	late = exposure(judge, from, to) / judge->thinning;
	since = exposure(judge, horizon->warm, horizon->end) / judge->thinning;
	if (isinf(late) || judge->profile->heaps[judge->heap].gap <= 0)
		return 0;
	if (late <= 0)
		return HUGE_VAL;
	gap = (double)(to - from) / 1e9 / late;
	hits = hits_needed(judge, gap);
	return mean_for_power(hits, since / late) / late;
}
