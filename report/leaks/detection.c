/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The detection limit. A steady leak of r bytes per second has a Poisson number L of old survivors
 * from the later half, of mean m = r * X, where X is the integral of the sampling density (1 /
 * gap) over the time in which they were allocated, and another number E from the time before, since
 * the warm-up. It is found if L is at least k, the smallest number that passes the sign test and has
 * a lower limit above 0, or if E + L is at least K, which also has to show an end of growth, and
 * they are spread as they should be; and if the tests of births do not take a chance for the end:
 *
 *     (1 - sum over l < k of P(L = l) (P(E < K - l) + P(spread))) (1 - P(pause) - P(slow)) = 0.95
 */
#include "report/leaks/evidence_rules.h"

#include <math.h>

/* No recording needs more survivors than this. */
#define HITS_MAX 1000
#define BISECTIONS 60
/* The probability that the last or the longest pause of a steady leak is taken for its end. */
#define UNSTEADY (2 * UNLIKELY_PAUSE)

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
		return item->sampled / item->interval;
	return gap > 0 ? item->sampled / gap : HUGE_VAL;
}

/* The integral of the density between two times since the warm-up. */
static double
exposure(const struct th_judge *judge, uint64_t from, uint64_t to)
{
	const struct th_sampling_density *density = &judge->density;
	double length = (double)(density->to - density->from);
	double start = ((double)from - (double)density->from) / length * TH_DENSITY_PARTS;
	double end = ((double)to - (double)density->from) / length * TH_DENSITY_PARTS;
	double sum = 0;

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

/* What it takes to find a steady leak. */
struct need {
	uint32_t hits;  /* survivors from the later half */
	uint32_t whole; /* or these, since the warm-up; UINT32_MAX: no number is enough */
	/* Factors to the mean number from the later half: of survivors before it since the warm-up,
	 * and of those that a pause of PAUSE_PART of the time leaves out. */
	double earlier;
	double births;
};

/* The probability that growth is not significant. */
static double
miss_of(double mean, const struct need *need)
{
	double term = exp(-mean);
	double sum = 0;

	for (uint32_t late = 0; late < need->hits; late++) {
		double few = 1;

		if (need->whole <= late)
			few = UNSTEADY;
		else if (need->whole < UINT32_MAX)
			few = 1 - (1 - UNSTEADY) * poisson_at_least(mean * need->earlier,
							   need->whole - late);
		sum += term * few;
		term *= mean / (late + 1);
	}
	return sum;
}

/* The probability that a leak with this mean is found. */
static double
power_of(double mean, const struct need *need)
{
	double pause = fmin(exp(-mean * need->births * PAUSE_PART), UNLIKELY_PAUSE);

	return (1 - miss_of(mean, need)) *
	       (1 - pause - UNLIKELY_ACTIVE_PAUSE - UNLIKELY_QUARTER);
}

static double
mean_for_power(const struct need *need)
{
	uint32_t hits = need->hits;
	double low = 0;
	double high = 4.0 * hits + 100;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (power_of(middle, need) < TH_DETECTION_POWER)
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

/* The smallest number of survivors since the warm-up that is enough: see is_steady() of births. */
static uint32_t
whole_needed(const struct th_judge *judge, double gap)
{
	const struct th_observation_window *horizon = judge->horizon;
	uint64_t end = horizon->horizon - horizon->old;
	double last = NOTICED_PAUSE_PART * (double)(end - horizon->warm);
	double noticed = exposure(judge, end - (uint64_t)last, end) /
			 exposure(judge, horizon->warm, end);
	double hits = ceil(log(UNLIKELY_PAUSE) / log1p(-noticed));

	if (judge->heap == TH_HEAP_MAPPED || !(hits < HITS_MAX))
		return UINT32_MAX;
	return (uint32_t)fmax(hits, hits_needed(judge, gap));
}

/* Of a heap that was not judged, by all its samples since the warm-up. */
static double
limit_of_few(const struct th_judge *judge, double length)
{
	const struct th_observation_window *horizon = judge->horizon;
	double exposed = exposure(judge, horizon->warm, horizon->end);

	if (exposed <= 0)
		return HUGE_VAL;
	struct need need = {hits_needed(judge, length / exposed), UINT32_MAX, 0, 1};
	if (th_load_samples(&judge->load, (double)horizon->warm, (double)horizon->end) >=
		need.hits)
		return HUGE_VAL;
	return isinf(exposed) ? 0 : mean_for_power(&need) / exposed;
}

double
th_detection_limit(const struct th_judge *judge)
{
	const struct th_observation_window *horizon = judge->horizon;
	uint64_t from = horizon->middle - horizon->old;
	uint64_t to = horizon->horizon - horizon->old;

	if (horizon->end <= horizon->warm)
		return HUGE_VAL;
	if (!th_observation_window_may_leak(horizon))
		return limit_of_few(judge, (double)(horizon->end - horizon->warm) / 1e9);
	double late = exposure(judge, from, to) / judge->thinning;
	double since = exposure(judge, horizon->warm, horizon->end) / judge->thinning;
	if (isinf(late) || judge->profile->heaps[judge->heap].gap <= 0)
		return 0;
	if (late <= 0)
		return HUGE_VAL;
	double gap = (double)(to - from) / 1e9 / late;
	struct need need = {hits_needed(judge, gap), whole_needed(judge, gap),
		exposure(judge, horizon->warm, from) / judge->thinning / late, since / late};
	return mean_for_power(&need) / late;
}
