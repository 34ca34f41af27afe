/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided Mann-Kendall test of a series of measurements, and the sums of its rises and falls.
 * The later half decides; where it has too few points, earlier ones are added.
 */
#include "report/leaks/trend.h"

/* Longer series are thinned: more points make the test slower, but no better. */
#define POINTS_MAX 60
/*
 * If the later half has fewer, earlier points are added. Of six, two neighbors may be in the
 * wrong order (6 : 720). With one point more, two may come from growth that had stopped before,
 * and a jump at the last snapshot would look like order (76 : 5040).
 */
#define POINTS_LEAST 6
/*
 * Two measurements closer than this fraction of the time since the previous one count as
 * simultaneous.
 */
#define MOMENT_DIVISOR 4
#define PAIRS_MAX (POINTS_MAX * (POINTS_MAX - 1) / 2)
/* Fraction of the growth: values that differ by no more are equal. */
#define LEVEL_PART 0.02

struct series {
	const uint64_t *times;
	const double *values;
	size_t count; /* at least 1 */
};

static double
value_at(const struct series *series, uint64_t time)
{
	size_t i = 0;

	while (i < series->count && series->times[i] < time)
		i++;
	if (i == 0)
		return series->values[0];
	if (i == series->count)
		return series->values[i - 1];
	double step = (double)(series->times[i] - series->times[i - 1]);
	double part = step > 0 ? (double)(time - series->times[i - 1]) / step : 1;
	return series->values[i - 1] + part * (series->values[i] - series->values[i - 1]);
}

/* The first measurement since `from` that comes close to `level`. */
static uint64_t
reaches(const struct series *series, uint64_t from, double level)
{
	for (size_t i = 0; i < series->count; i++)
		if (series->times[i] >= from && series->values[i] >= level)
			return series->times[i];
	return from;
}

static double
sum_of_decreases(const struct series *series, uint64_t from)
{
	double sum = 0;

	for (size_t i = 1; i < series->count; i++)
		if (series->times[i] >= from && series->values[i] < series->values[i - 1])
			sum += series->values[i - 1] - series->values[i];
	return sum;
}

/*
 * P(ascending pairs >= `pairs`) among `count` values in random order. The number of pairs of n
 * values is that of n - 1 plus a uniformly distributed 0 .. n - 1 for the added value.
 */
static double
probability_of(uint32_t count, uint32_t pairs)
{
	double ways[PAIRS_MAX + 1] = {1};
	uint32_t most = 0;
	double sum = 0;

	for (uint32_t n = 2; n <= count; n++) {
		double next[PAIRS_MAX + 1] = {0};
		double window = 0;

		for (uint32_t k = 0; k <= most + n - 1; k++) {
			window += k <= most ? ways[k] : 0;
			window -= k >= n ? ways[k - n] : 0;
			next[k] = window / n;
		}
		most += n - 1;
		for (uint32_t k = 0; k <= most; k++)
			ways[k] = next[k];
	}
	for (uint32_t k = pairs; k <= most; k++)
		sum += ways[k];
	return sum;
}

/*
 * Whether the next measurement follows so soon that both count as simultaneous, as the one at
 * the end may follow a scheduled one: a value that had no time to change is no evidence against
 * a trend.
 */
static bool
is_overtaken(const struct series *series, size_t i)
{
	return i > 0 && i + 1 < series->count &&
	       MOMENT_DIVISOR * (series->times[i + 1] - series->times[i]) <
		       series->times[i] - series->times[i - 1];
}

/* Takes the last measurement before the middle, and all later ones or every nth. */
static uint32_t
choose_points(
	const struct series *series, const struct th_observation_window *horizon, double *ret)
{
	size_t first = 0, points = 0, seen = 0;
	uint32_t count = 0;

	while (first + 1 < series->count && series->times[first + 1] < horizon->middle)
		first++;
	for (size_t i = first; i < series->count; i++)
		points += !is_overtaken(series, i);
	while (first && points < POINTS_LEAST && series->times[first - 1] >= horizon->warm)
		points += !is_overtaken(series, --first);
	size_t step = (points + POINTS_MAX - 1) / POINTS_MAX;
	for (size_t i = first; i < series->count; i++)
		if (!is_overtaken(series, i) && seen++ % step == 0)
			ret[count++] = series->values[i];
	return count;
}

/*
 * Pairs in ascending order; pairs of equal values count one half. This reduces the variance of
 * the number among random orders, so the probability errs upwards.
 */
static uint32_t
ascending_pairs(const double *points, uint32_t count, double level)
{
	uint32_t halves = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < i; k++)
			halves += (points[i] > points[k] + level) +
				  (points[i] >= points[k] - level);
	return halves / 2;
}

static void
test_order(struct th_trend *trend, const struct series *series,
	const struct th_observation_window *horizon)
{
	double points[POINTS_MAX];
	double level = trend->growth > 0 ? LEVEL_PART * trend->growth : 0;

	trend->points = choose_points(series, horizon, points);
	uint32_t pairs = ascending_pairs(points, trend->points, level);
	trend->probability = trend->points < 2 ? 1 : probability_of(trend->points, pairs);
}

void
th_trend_init(struct th_trend *trend, const struct th_observation_window *horizon,
	const uint64_t *times, const double *values, size_t count)
{
	const struct series series = {times, values, count};

	*trend = (struct th_trend){.probability = 1};
	if (!count)
		return;
	double last = values[count - 1];
	trend->growth = last - value_at(&series, horizon->warm);
	/* Without a measurement in the later half, nothing is known about it. */
	trend->growth_late = times[count - 1] > horizon->middle
				     ? last - value_at(&series, horizon->middle)
				     : trend->growth;
	trend->spans_middle = times[0] <= horizon->middle && times[count - 1] > horizon->middle;
	trend->lost = sum_of_decreases(&series, horizon->warm);
	trend->last_rise = reaches(&series, horizon->warm, last - LEVEL_PART * trend->growth);
	uint64_t quarter = trend->last_rise - (trend->last_rise - horizon->warm) / 4;
	trend->last_quarter = value_at(&series, trend->last_rise) - value_at(&series, quarter);
	test_order(trend, &series, horizon);
}
