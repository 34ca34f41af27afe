/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/site_rates.h"

#include <stdbool.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/sample/water_level.h"
#include "unify/shared/clock.h"

/*
 * Rates are averages over about this time: the probability of a site should be the same from
 * one second to the next, also where its load comes in bursts.
 */
#define MEMORY_NS (8 * TH_NS_PER_S)
/*
 * The factor of a new interval is a forecast: wrong for blocks larger than the interval, which are
 * always due.  After it, rates are means again, of which this many rolls are the forecast.
 */
#define TRUSTED 2
/*
 * Samples between two rolls of a key whose probability is 1 that are all kept: this many, for new
 * keys, and this multiple of what its rate predicts.  Of n samples, `free` (1 + ln(n / free)).
 */
#define FREE 4
#define FREE_PER_EXPECTED 2
/*
 * A time with less than this part of the usual number of samples belongs to the load, which may
 * come in bursts: up to PAUSE_NS, it is counted together with the burst that follows.
 */
#define QUIET_PART 4
#define PAUSE_NS (2 * TH_NS_PER_S)
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
	/* Untouched pages of a process that takes no samples stay untouched. */
	if (sites->time)
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
	uint32_t fewest = UINT32_MAX;
	uint32_t expected = UINT32_MAX;

	for (unsigned row = 0; row < TH_SITE_ROWS; row++) {
		unsigned slot = slot_of(key, row);
		uint32_t dropped = th_load_relaxed(&sites->dropped[row][slot]);
		uint32_t count = th_add_relaxed(&sites->counts[row][slot], 1);
		uint32_t slot_expected = th_load_relaxed(&sites->expected[row][slot]);

		fewest = count < fewest ? count : fewest;
		least = dropped < least ? dropped : least;
		expected = slot_expected < expected ? slot_expected : expected;
	}
	double free = FREE + FREE_PER_EXPECTED * (double)expected;
	if (!least && fewest >= free && th_load_relaxed(&sites->drops))
		return free / (fewest + 1);
	return 1 - least / ONE;
}

void
th_site_rates_forget_survivors(struct th_site_rates *sites)
{
	memset(sites->survivors, 0, sizeof(sites->survivors));
}

void
th_site_rates_add_survivors(struct th_site_rates *sites, uint64_t far, uint16_t number)
{
	for (unsigned row = 0; row < TH_SITE_ROWS_PER_KEY; row++) {
		uint16_t *count = &sites->survivors[row][slot_in(far, row)];

		*count = (uint16_t)(*count + number < UINT16_MAX ? *count + number
								 : UINT16_MAX);
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

/* As th_water_level(), which changes the demands; most slots may have none. */
static double
level_of(const double *demands, double total)
{
	/* The writer's; stacks may be small. */
	static double positive[TH_SITE_SLOTS];
	size_t count = 0;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		if (demands[i] > 0)
			positive[count++] = demands[i];
	return th_water_level(positive, count, total);
}

/* Samples per second of each slot, of `target`, for sites with survivors alone; the sum. */
static double
divide_first(const struct th_site_rates *sites, unsigned row, double target, double *shares_ret)
{
	double sum = 0;
	double level;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		shares_ret[i] = has_survivors(sites, row, i) ? sites->rates[row][i] : 0;
	level = min(level_of(shares_ret, target * TH_SITE_SURVIVORS_PART),
		target * TH_SITE_SURVIVOR_PART);
	for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
		shares_ret[i] = min(shares_ret[i], level);
		sum += shares_ret[i];
	}
	return sum;
}

/* Divides `target` between the slots of a row, in addition to the part `least` of each. */
static void
set_probabilities(struct th_site_rates *sites, unsigned row, double target, double least)
{
	/* The writer's; stacks may be small. */
	static double first[TH_SITE_SLOTS];
	static double rest[TH_SITE_SLOTS];
	double left = target - divide_first(sites, row, target, first);
	double level;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		rest[i] = sites->rates[row][i] - first[i];
	level = level_of(rest, left);
	for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
		double rate = sites->rates[row][i];

		set_keep(sites, row, i,
			rest[i] > level ? min(1, least + (first[i] + level) / rate) : 1);
	}
}

static void
set_all(struct th_site_rates *sites, double target)
{
	bool drops = target > 0 && sites->total > target;
	double even = TH_SITE_EVEN_PART * target;
	double rest = target - even;

	if (sites->drops && !drops)
		keep_all(sites);
	for (unsigned row = 0; row < TH_SITE_ROWS && drops; row++)
		set_probabilities(sites, row, is_near(row) ? TH_SITE_NEAR_PART * rest : rest,
			even / sites->total);
	th_store_relaxed(&sites->drops, drops);
}

static double
sum_rates(const struct th_site_rates *sites)
{
	double sum = 0;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		sum += sites->rates[0][i];
	return sum;
}

static double
sum_counts(const struct th_site_rates *sites)
{
	double sum = 0;

	for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
		sum += th_load_relaxed(&sites->counts[0][i]);
	return sum;
}

/* The weight of the last of so many: the mean at first. */
static double
weight_of(uint32_t number, double part)
{
	double mean = 1.0 / number;

	return part < mean ? mean : part;
}

/* The weight of what was counted since the last roll. */
static double
weight(const struct th_site_rates *sites, unsigned row, unsigned slot, double part)
{
	return weight_of(sites->rolls - sites->first[row][slot] + 1, part);
}

/* What the rates predict until the next roll, which may be as far away as the last two were. */
static void
expect(struct th_site_rates *sites)
{
	double seconds = (double)(sites->elapsed[0] > sites->elapsed[1] ? sites->elapsed[0]
									: sites->elapsed[1]) /
			 TH_NS_PER_S;

	for (unsigned row = 0; row < TH_SITE_ROWS; row++)
		for (unsigned i = 0; i < TH_SITE_SLOTS; i++)
			th_store_relaxed(&sites->expected[row][i],
				(uint32_t)(sites->rates[row][i] * seconds));
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
			if (*rate == 0)
				sites->first[row][i] = sites->rolls;
			if (count || *rate > 0)
				*rate += weight(sites, row, i, part) *
					 (count * per_second - *rate);
		}
}

/* Whether to wait for more than `sum` samples, `elapsed` ns after the last roll. */
static bool
is_quiet(const struct th_site_rates *sites, double sum, uint64_t elapsed)
{
	return elapsed < PAUSE_NS &&
	       sum * QUIET_PART * TH_NS_PER_S < sites->usual * (double)elapsed;
}

/* After a pause rates are learned again. */
static void
forget(struct th_site_rates *sites)
{
	if (!(sites->usual > 0))
		return;
	memset(sites->rates, 0, sizeof(sites->rates));
	sites->total = 0;
	sites->usual = 0;
	if (sites->drops)
		keep_all(sites);
	th_store_relaxed(&sites->drops, false);
}

void
th_site_rates_roll(struct th_site_rates *sites, uint64_t now, double target)
{
	double sum = sum_counts(sites);
	uint64_t elapsed = now - sites->time;
	double seconds = (double)elapsed / TH_NS_PER_S;

	if (!elapsed || is_quiet(sites, sum, elapsed))
		return;
	sites->time = now;
	sites->elapsed[1] = sites->elapsed[0];
	sites->elapsed[0] = elapsed;
	if (!(sum > 0)) {
		forget(sites);
		return;
	}
	double part = min((double)elapsed / MEMORY_NS, 1);
	follow(sites, seconds, part);
	sites->total = sum_rates(sites);
	sites->rolls++;
	sites->usual += weight_of(sites->rolls, part) * (sum / seconds - sites->usual);
	expect(sites);
	set_all(sites, target);
}

void
th_site_rates_rescale(struct th_site_rates *sites, double factor)
{
	for (unsigned row = 0; row < TH_SITE_ROWS; row++)
		for (unsigned i = 0; i < TH_SITE_SLOTS; i++) {
			sites->rates[row][i] *= factor;
			sites->first[row][i] = sites->rolls - TRUSTED;
		}
	sites->total *= factor;
	sites->usual *= min(factor, 1);
	expect(sites);
}
