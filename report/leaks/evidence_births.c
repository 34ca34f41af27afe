/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the times at which survivors were allocated. For a steady leak these are uniform on
 * a clock that compensates for changes of the sampling density.
 */
#include "report/leaks/evidence_rules.h"

#include <math.h>
#include <stdlib.h>

static int
compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

void
th_times_sort(uint64_t *times, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (times[i] < times[i - 1]) {
			qsort(times, count, sizeof(*times), compare_times);
			return;
		}
	}
}

static int
compare_births(const void *a, const void *b)
{
	const struct th_birth *left = a;
	const struct th_birth *right = b;

	return (left->time > right->time) - (left->time < right->time);
}

static void
sort_births(struct th_birth *births, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (births[i].time < births[i - 1].time) {
			qsort(births, count, sizeof(*births), compare_births);
			return;
		}
	}
}

/* lgamma() would write the sign to a global variable. */
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

/* A final pause that neither chance nor earlier pauses explain means that growth ended. */
static bool
goes_on(struct th_evidence *evidence, const struct th_judge *judge,
	const struct th_sampling_clock *clock)
{
	const struct th_observation_window *horizon = evidence->horizon;
	double length = (double)(horizon->end - horizon->warm);
	double part = length > 0 ? (double)(horizon->end - evidence->last_birth) / length : 1;
	double pause = length > 0 ? 1 - th_sampling_clock_at(clock, evidence->last_birth) : 1;

	evidence->pause_probability = pow(1 - pause, (double)judge->births_count);
	return part <= PAUSE_PART || evidence->pause_probability >= UNLIKELY_PAUSE ||
	       pause <= LONGER_PAUSE * longest_pause(judge, clock);
}

/*
 * Whether the last quarter of the time has less than half of the survivors expected in it, and
 * so few samples of them that chance does not explain it.
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
	return 8 * late < all && before > 0 && before < 1 &&
	       binomial(evidence->born_last_quarter, count, 1 - before) < UNLIKELY_QUARTER;
}

void
th_evidence_test_births(struct th_evidence *evidence, struct th_judge *judge, double size)
{
	const struct th_birth *births = judge->births;
	size_t count = judge->births_count;
	struct th_sampling_clock clock;

	evidence->born_since = count;
	if (!count)
		return;
	sort_births(judge->births, count);
	th_sampling_clock_init(&clock, &judge->density, size);
	evidence->last_birth = births[count - 1].time;
	evidence->is_growing = goes_on(evidence, judge, &clock);
	evidence->is_slowing = slows_down(evidence, judge, &clock);
}
