/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forecast is the population of the last second, not a decaying average over windows:
 * bursts that come once a second are then thinned evenly, and a step down is forgotten after
 * exactly one second.  A step up, which it cannot predict, shows within a window: from the
 * point where a window holds more than the last second explains, its population is extrapolated
 * to a second.  While such a window fills, P falls as 1/n, so that it keeps budget/100 * (1 +
 * ln(n / n0)) samples, at most a few times its share.
 */
#include "unify/sample/rate_control.h"

#include <string.h>

#include "unify/base/atomic.h"

/* Target population in thousandths of the target; the rest is a margin for random variation. */
#define AIM 900
/* Thousandths of the target, kept in a second, at which the brake begins, and its step. */
#define BRAKE_FROM 940
#define BRAKE_STEP 16
/* Maximum number of halvings of P by the brake: only a bound for the arithmetic. */
#define BRAKE_MAX 40
/*
 * A window of more than this multiple of the largest window of the last second is a surge.  A
 * burst that was split over two windows may next fall into one, hence more than 2.
 */
#define SURGE_NUMERATOR 5
#define SURGE_DENOMINATOR 2
/* Minimum population of a surge, so that random variation alone makes none. */
#define SURGE_LEAST 4
/* While a second's population is below this part of the target, nothing is thinned. */
#define FREE_PART 5
/*
 * The window in which a surge begins may use up this part of the last second's unused budget:
 * it may be a whole burst, or the first of many.
 */
#define UNUSED_PART 10
/* Minimum budget of a surge in thousandths of a sample per second, so that P is never 0. */
#define SURGE_BUDGET_LEAST 1000
static uint64_t
max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Counters of other threads may be newer than the value that is subtracted. */
static uint64_t
since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The part of the target of one window, thousandths of a sample. */
static uint32_t
window_share(uint64_t target)
{
	return (uint32_t)(target * 1000 / TH_RATE_SECOND);
}

/* What the second that is remembered may keep. */
static uint64_t
sum_allowed(const struct th_rate *rate)
{
	uint64_t allowed = 0;

	for (unsigned i = 0; i < TH_RATE_SECOND; i++)
		allowed += rate->ring[i].allowed;
	return allowed;
}

static void
start_target(struct th_rate *rate, uint64_t target)
{
	for (unsigned i = 0; i < TH_RATE_SECOND; i++)
		rate->ring[i].allowed = window_share(target);
	th_store_relaxed(&rate->allowed, sum_allowed(rate));
}

void
th_rate_init(struct th_rate *rate, uint64_t target)
{
	memset(rate, 0, sizeof(*rate));
	rate->target = target;
	rate->budget = target * AIM;
	rate->surge_above = SURGE_LEAST;
	start_target(rate, target);
}

void
th_rate_set_target(struct th_rate *rate, uint64_t target)
{
	if (!rate->target || !target)
		start_target(rate, target);
	th_store_relaxed(&rate->target, target);
	th_store_relaxed(&rate->budget, target * AIM);
}

/* Counting */

/* Samples kept in the last second, with a proportional part of its oldest window. */
static uint64_t
kept_in_second(const struct th_rate *rate, uint64_t now)
{
	uint64_t kept = since(
		th_load_relaxed(&rate->kept), th_load_relaxed(&rate->kept_before));
	uint64_t left = min(since(th_load_relaxed(&rate->window_end), now), TH_RATE_WINDOW_NS);

	return th_load_relaxed(&rate->second_kept) + kept +
	       th_load_relaxed(&rate->oldest_kept) * left / TH_RATE_WINDOW_NS;
}

/*
 * Halved for every step by which the last second exceeds the start of the brake.  `allowed` in
 * thousandths of a sample.
 */
static double
brake(uint64_t allowed, uint64_t kept)
{
	uint64_t excess = since(kept * 1000000, allowed * BRAKE_FROM);
	uint64_t steps = min(excess / (allowed * BRAKE_STEP), BRAKE_MAX);

	return 1.0 / (double)(UINT64_C(1) << steps);
}

/* n: population of the current window so far. */
static double
probability(const struct th_rate *rate, uint64_t target, uint64_t n, uint64_t now)
{
	uint64_t kept = kept_in_second(rate, now);
	uint64_t allowed = th_load_relaxed(&rate->allowed);
	uint64_t budget = th_load_relaxed(&rate->budget);
	uint64_t second = th_load_relaxed(&rate->second_population) + n;
	uint64_t forecast = max(second, th_load_relaxed(&rate->forecast));

	if (second * FREE_PART <= target)
		return 1;
	if (n > th_load_relaxed(&rate->surge_above)) {
		uint64_t unused = since(allowed * AIM / 1000, kept * 1000);

		forecast = max(forecast, n * TH_RATE_SECOND);
		budget = target * AIM + unused * TH_RATE_SECOND / UNUSED_PART;
	}
	double p = (double)budget / ((double)forecast * 1000);
	return (p < 1 ? p : 1) * brake(allowed ? allowed : 1, kept);
}

double
th_rate_count(struct th_rate *rate, uint64_t now)
{
	uint64_t target = th_load_relaxed(&rate->target);
	uint64_t population = th_add_relaxed(&rate->population, 1) + 1;

	if (!target)
		return 1;
	return probability(rate, target,
		since(population, th_load_relaxed(&rate->population_before)), now);
}

void
th_rate_keep(struct th_rate *rate)
{
	th_add_relaxed(&rate->kept, 1);
}

/* Rolling */

bool
th_rate_is_due(const struct th_rate *rate, uint64_t now)
{
	return now >= th_load_relaxed(&rate->window_end);
}

static uint64_t
largest(const uint64_t *values)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < TH_RATE_HOLD; i++)
		result = max(result, values[i]);
	return result;
}

static void
push(uint64_t *values, uint64_t value)
{
	memmove(values + 1, values, (TH_RATE_HOLD - 1) * sizeof(*values));
	values[0] = value;
}

/* Population of a second that continues like the surge; 0 without one. */
static uint64_t
surge_forecast(const struct th_rate_surge *surge)
{
	if (!surge->is_on)
		return 0;
	if (!surge->windows)
		return surge->first * TH_RATE_SECOND;
	return surge->population * TH_RATE_SECOND / surge->windows;
}

/* A surge ends after a second, which then includes it, or when a window holds far less. */
static void
follow_surge(struct th_rate *rate, const struct th_rate_window *window)
{
	struct th_rate_surge *surge = &rate->surge;
	uint64_t share = (uint64_t)window->allowed * AIM / 1000000;

	if (window->population > rate->surge_above) {
		*surge = (struct th_rate_surge){.is_on = true, .first = window->population};
	} else if (surge->is_on) {
		surge->is_on = (uint64_t)window->population * 4 * TH_RATE_SECOND >=
				       surge_forecast(surge) &&
			       ++surge->windows < TH_RATE_SECOND;
		surge->population += window->population;
	}
	surge->spent += since(window->kept, share);
}

/* The sums of the last second, and its largest window. */
static void
look_back(struct th_rate *rate)
{
	const struct th_rate_window *oldest = &rate->ring[rate->at];
	uint64_t population = 0;
	uint64_t kept = 0;
	uint64_t peak = 0;

	for (unsigned i = 0; i < TH_RATE_SECOND; i++) {
		population += rate->ring[i].population;
		kept += rate->ring[i].kept;
		peak = max(peak, rate->ring[i].population);
	}
	push(rate->seconds, population);
	push(rate->peaks, peak);
	/* The current window replaces the oldest. */
	th_store_relaxed(&rate->second_population, population - oldest->population);
	th_store_relaxed(&rate->second_kept, kept - oldest->kept);
	th_store_relaxed(&rate->oldest_kept, oldest->kept);
	th_store_relaxed(&rate->allowed, sum_allowed(rate));
	th_store_relaxed(&rate->surge_above,
		largest(rate->peaks) * SURGE_NUMERATOR / SURGE_DENOMINATOR + SURGE_LEAST);
}

/*
 * The samples that a surge may keep in a second: reduced by those it kept beyond its share,
 * increased by part of the last second's unused budget, which decreases with its duration.
 */
static uint64_t
surge_budget(const struct th_rate *rate)
{
	uint64_t aim = rate->target * AIM;
	uint64_t unused = since(
		rate->allowed * AIM / 1000, (rate->second_kept + rate->oldest_kept) * 1000);

	return since(aim, rate->surge.spent * 1000) +
	       unused * TH_RATE_SECOND / UNUSED_PART / (rate->surge.windows + 2);
}

static void
plan(struct th_rate *rate)
{
	th_store_relaxed(
		&rate->forecast, max(largest(rate->seconds), surge_forecast(&rate->surge)));
	th_store_relaxed(&rate->budget, rate->surge.is_on
						? max(surge_budget(rate), SURGE_BUDGET_LEAST)
						: rate->target * AIM);
}

/*
 * Blocks far above the interval are due at any interval; with many of them the forecast is too
 * low until the next window, a surge, corrects it.
 */
void
th_rate_rescale(struct th_rate *rate, double factor)
{
	for (unsigned i = 0; i < TH_RATE_SECOND; i++)
		rate->ring[i].population = (uint32_t)(rate->ring[i].population * factor);
	for (unsigned i = 0; i < TH_RATE_HOLD; i++) {
		rate->seconds[i] = (uint64_t)((double)rate->seconds[i] * factor);
		rate->peaks[i] = (uint64_t)((double)rate->peaks[i] * factor);
	}
	rate->surge.first = (uint64_t)((double)rate->surge.first * factor);
	rate->surge.population = (uint64_t)((double)rate->surge.population * factor);
	th_store_relaxed(
		&rate->second_population, (uint64_t)((double)rate->second_population * factor));
	th_store_relaxed(&rate->forecast, (uint64_t)((double)rate->forecast * factor));
}

static void
end_window(struct th_rate *rate, struct th_rate_window window)
{
	follow_surge(rate, &window);
	rate->ring[rate->at] = window;
	rate->at = (rate->at + 1) % TH_RATE_SECOND;
	look_back(rate);
	plan(rate);
}

void
th_rate_roll(struct th_rate *rate, uint64_t now)
{
	uint64_t end = rate->window_end;
	uint64_t population = th_load_relaxed(&rate->population);
	uint64_t kept = th_load_relaxed(&rate->kept);
	struct th_rate_window window = {(uint32_t)(population - rate->population_before),
		(uint32_t)(kept - rate->kept_before), window_share(rate->target)};

	if (now < end)
		return;
	if (!end)
		end = now;
	/* After a long sleep all windows are empty, and further ones change nothing. */
	uint64_t windows = min((now - end) / TH_RATE_WINDOW_NS + 1, 2 * TH_RATE_SECOND);
	for (uint64_t i = 0; i < windows; i++) {
		end_window(rate, window);
		window.population = 0;
		window.kept = 0;
	}
	th_store_relaxed(&rate->population_before, population);
	th_store_relaxed(&rate->kept_before, kept);
	th_store_relaxed(
		&rate->window_end, now - (now - end) % TH_RATE_WINDOW_NS + TH_RATE_WINDOW_NS);
}
