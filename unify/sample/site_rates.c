/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/site_rates.h"

#include <stdbool.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/sample/water_level.h"
#include "unify/shared/clock.h"

/* Rates are averages over about this time. */
#define MEMORY_NS TH_NS_PER_S
/*
 * A time with less than this part of the usual number of samples is a pause of the program, up
 * to STALL_NS: rates are those from before, since it resumes with its full load.
 */
#define STALL_PART 4
#define STALL_NS (2 * (uint64_t)TH_NS_PER_S)
/* Samples per second that are none: rates decrease towards 0. */
#define NONE 1e-3
/* A site below this has no rate: it is skipped, and decreases no further, to denormal numbers. */
#define NO_RATE 1e-6
/* Fewer may be what lives a little longer than others. */
#define LEAST_SURVIVORS 2
/* Probabilities are in 2^-31.  None is 0. */
#define ONE 0x1p31
#define LEAST 0x1p-20

void
th_site_rates_init(struct th_site_rates *sites, uint64_t now)
{
	memset(sites, 0, sizeof(*sites));
	sites->time = now;
}

static bool
is_near(unsigned row)
{
	return row < TH_SITE_ROWS_PER_KEY;
}

/* The rows use different bits of the hash. */
static unsigned
slot_in(uint64_t hash, unsigned row)
{
	return (unsigned)(hash >> 32 * (row % TH_SITE_ROWS_PER_KEY)) % TH_SITE_SLOTS;
}

static unsigned
slot_of(struct th_site_key key, unsigned row)
{
	return slot_in(is_near(row) ? key.near : key.far, row);
}

double
th_site_rates_count(struct th_site_rates *sites, struct th_site_key key)
{
	uint32_t least = UINT32_MAX;

	for (unsigned row = 0; row < TH_SITE_ROWS; row++) {
		unsigned slot = slot_of(key, row);
		uint32_t dropped = th_load_relaxed(&sites->dropped[row][slot]);

		th_add_relaxed(&sites->counts[row][slot], 1);
		least = dropped < least ? dropped : least;
	}
	return 1 - least / ONE;
}

void
th_site_rates_forget_survivors(struct th_site_rates *sites)
{
	memset(sites->survivors, 0, sizeof(sites->survivors));
}

void
th_site_rates_add_survivor(struct th_site_rates *sites, uint64_t far)
{
	for (unsigned row = 0; row < TH_SITE_ROWS_PER_KEY; row++) {
		uint16_t *count = &sites->survivors[row][slot_in(far, row)];

		*count += *count < UINT16_MAX;
	}
}

static bool
has_survivors(const struct th_site_rates *sites, unsigned row, unsigned slot)
{
	return !is_near(row) &&
	       sites->survivors[row % TH_SITE_ROWS_PER_KEY][slot] >= LEAST_SURVIVORS;
}

static void
set_keep(struct th_site_rates *sites, unsigned row, unsigned slot, double keep)
{
	double dropped = keep < 1 ? 1 - (keep > LEAST ? keep : LEAST) : 0;

	th_store_relaxed(&sites->dropped[row][slot], (uint32_t)(dropped * ONE));
}

static void
keep_all(struct th_site_rates *sites)
{
	for (unsigned row = 0; row < TH_SITE_ROWS; row++)
		for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
			set_keep(sites, row, i, 1);
}

static double
min(double a, double b)
{
	return a < b ? a : b;
}

/* Samples per second of each slot, of `target`, for sites with survivors alone; the sum. */
static double
divide_first(const struct th_site_rates *sites, unsigned row, double target, double *shares_ret)
{
	double sum = 0;
	double level;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		shares_ret[i] = has_survivors(sites, row, i) ? sites->rates[row][i] : 0;
	level = min(th_water_level(shares_ret, TH_SITE_SLOTS, target * TH_SITE_SURVIVORS_PART),
		target * TH_SITE_SURVIVOR_PART);
	for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
		shares_ret[i] = min(shares_ret[i], level);
		sum += shares_ret[i];
	}
	return sum;
}

/* Divides `target` between the slots of a row. */
static void
set_probabilities(struct th_site_rates *sites, unsigned row, double target)
{
	/* The writer's; stacks may be small. */
	static double first[TH_SITE_SLOTS];
	static double rest[TH_SITE_SLOTS];
	double left = target - divide_first(sites, row, target, first);
	double level;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		rest[i] = sites->rates[row][i] - first[i];
	level = th_water_level(rest, TH_SITE_SLOTS, left);
	for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
		double rate = sites->rates[row][i];

		set_keep(sites, row, i, rest[i] > level ? (first[i] + level) / rate : 1);
	}
}

static void
set_all(struct th_site_rates *sites, double target)
{
	bool drops = target > 0 && sites->total > target;

	if (sites->drops && !drops)
		keep_all(sites);
	for (unsigned row = 0; row < TH_SITE_ROWS && drops; row++)
		set_probabilities(
			sites, row, is_near(row) ? TH_SITE_NEAR_PART * target : target);
	sites->drops = drops;
}

static double
sum_counts(const struct th_site_rates *sites)
{
	double sum = 0;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		sum += th_load_relaxed(&sites->counts[0][i]);
	return sum;
}

/* Takes the counts since the last roll, and moves the rates towards them by `part`. */
static void
follow(struct th_site_rates *sites, double seconds, double part)
{
	const double per_second = 1 / seconds;

	for (unsigned row = 0; row < TH_SITE_ROWS; row++)
		for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
			uint32_t count = th_load_relaxed(&sites->counts[row][i]);
			double *rate = &sites->rates[row][i];

			if (count)
				th_add_relaxed(&sites->counts[row][i], -count);
			else if (*rate < NO_RATE)
				*rate = 0;
			if (count || *rate > 0)
				*rate += part * (count * per_second - *rate);
		}
}

/* Whether the program pauses, with `sum` samples since the last roll. */
static bool
is_stalled(struct th_site_rates *sites, double sum, uint64_t elapsed)
{
	if (sum * STALL_PART * TH_NS_PER_S >= sites->total * (double)elapsed) {
		sites->stalled = 0;
		return false;
	}
	sites->stalled += elapsed;
	return sites->stalled < STALL_NS;
}

/* The weight of what was counted in `elapsed` ns; at first that of a mean. */
static double
weight(struct th_site_rates *sites, uint64_t elapsed)
{
	double part = (double)elapsed / MEMORY_NS;
	double first = 1.0 / ++sites->rolls;

	return part < first ? first : part < 1 ? part : 1;
}

void
th_site_rates_roll(struct th_site_rates *sites, uint64_t now, double target)
{
	double sum = sum_counts(sites);
	uint64_t elapsed = now - sites->time;
	double seconds = (double)elapsed / TH_NS_PER_S;

	if (!elapsed || (!(sum > 0) && !(sites->total > 0)))
		return;
	sites->time = now;
	double part = is_stalled(sites, sum, elapsed) ? 0 : weight(sites, elapsed);
	follow(sites, seconds, part);
	sites->total += part * (sum / seconds - sites->total);
	if (sites->total < NONE)
		sites->total = 0;
	set_all(sites, target);
}

void
th_site_rates_rescale(struct th_site_rates *sites, double factor)
{
	for (unsigned row = 0; row < TH_SITE_ROWS; row++)
		for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
			sites->rates[row][i] *= factor;
	sites->total *= factor;
}
