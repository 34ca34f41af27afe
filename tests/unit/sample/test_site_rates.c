/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thinning by site in simulated time: rare sites are kept, the target is met, and estimates are
 * unbiased with intervals that cover.  As in the throttle, the rate control sees what the sites
 * leave.
 *
 *     test_site_rates also prints the coverage
 *
 * Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/statistics/estimate.h"
#include "unify/sample/poisson.h"
#include "unify/sample/rate_control.h"
#include "unify/sample/site_rates.h"
#include "unify/shared/hash.h"

#define SECOND UINT64_C(1000000000)
#define ROLL (SECOND / 10)
#define TARGET 300
#define DUE 3000 /* per second */
/* As in the throttle. */
#define AIM 0.85
#define INTERVAL (512u * 1024)
/* Far below the interval: a due sample stands for INTERVAL bytes. */
#define SIZE 64
/* Sites 0 to 19: in proportion to 1, 1/2, 1/3...; the others: 1 in 1000 due samples each. */
#define FREQUENT 20
#define RARE 20
#define SITES (FREQUENT + RARE)
#define RARE_PART 0.001

struct site {
	uint64_t due;
	uint64_t kept;
	struct th_estimator estimator;
	double weights; /* of the kept samples: their sum, and that of their squares */
	double squares;
};

/* How keys of a site are made. */
enum keys {
	SAME_KEYS,  /* one path to each site */
	RARE_PATHS, /* the rare ones are other paths to the most frequent one */
	MANY_PATHS, /* the frequent ones have so many that the table is full of them */
};
#define PATHS 20000

struct run {
	enum keys keys;
	struct th_site_rates sites;
	struct th_rate rate;
	struct th_random random;
	struct site site[SITES];
	uint64_t kept;
	unsigned leaks; /* a part of this site's samples survives; 0: of none */
};

/* Of a site that leaks, one in. */
#define SURVIVES 50

/* The sites' parts of what is due. */
static const double *
parts(void)
{
	static double part[SITES];
	double sum = 0;

	for (unsigned i = 0; i < FREQUENT; i++)
		sum += 1.0 / (i + 1);
	for (unsigned i = 0; i < FREQUENT; i++)
		part[i] = (1 - RARE * RARE_PART) / (i + 1) / sum;
	for (unsigned i = FREQUENT; i < SITES; i++)
		part[i] = RARE_PART;
	return part;
}

static unsigned
draw_site(struct run *run)
{
	const double *part = parts();
	double at = th_random_unit(&run->random);
	unsigned i = 0;

	for (; i + 1 < SITES && at > part[i]; i++)
		at -= part[i];
	return i;
}

static void
init(struct run *run, uint64_t seed)
{
	memset(run, 0, sizeof(*run));
	th_site_rates_init(&run->sites, 0);
	th_rate_init(&run->rate, TARGET);
	th_random_seed(&run->random, seed);
}

static struct th_site_key
same_key(uint64_t number)
{
	return (struct th_site_key){th_hash_mix(number), th_hash_mix(number), 0};
}

static struct th_site_key
key_of(struct run *run, unsigned which)
{
	struct th_site_key key = same_key(which + 1);

	if (run->keys == RARE_PATHS && which >= FREQUENT)
		key.near = th_hash_mix(1);
	if (run->keys == MANY_PATHS && which < FREQUENT)
		key.far = th_hash_mix(SITES + 1 + th_random_next(&run->random) % PATHS);
	return key;
}

static void
sample(struct run *run, unsigned which, uint64_t now)
{
	struct site *site = &run->site[which];
	double of_site = th_site_rates_count(&run->sites, key_of(run, which));

	site->due++;
	assert_true(of_site > 0 && of_site <= 1);
	if (th_random_unit(&run->random) > of_site)
		return;
	double of_rate = th_rate_count(&run->rate, now);
	if (th_random_unit(&run->random) > of_rate)
		return;
	th_rate_keep(&run->rate);
	site->kept++;
	run->kept++;
	if (run->leaks && which == run->leaks && th_random_unit(&run->random) * SURVIVES < 1)
		for (int i = 0; i < 2; i++)
			th_site_rates_add_survivors(&run->sites, key_of(run, which).far, 1);
	site->weights += 1 / (of_site * of_rate);
	site->squares += 1 / (of_site * of_rate * of_site * of_rate);
	th_estimator_add(&site->estimator, SIZE, INTERVAL, of_site * of_rate, 1);
}

/* Poisson arrivals, `due` per second. */
static void
simulate(struct run *run, double due, double from, double to)
{
	double at = from;
	uint64_t next_roll = (uint64_t)(from * SECOND) + ROLL;

	for (;;) {
		at -= log(th_random_unit(&run->random)) / due;
		uint64_t now = (uint64_t)(at * SECOND);

		for (; next_roll <= now && next_roll <= (uint64_t)(to * SECOND);
			next_roll += ROLL)
			th_site_rates_roll(&run->sites, next_roll, AIM * TARGET);
		if (at >= to)
			return;
		if (th_rate_is_due(&run->rate, now))
			th_rate_roll(&run->rate, now);
		sample(run, draw_site(run), now);
	}
}

/*
 * Ten times the target is due, mostly of a few sites; a site of one in a thousand is thinned by
 * less than 5 %.  Evenly thinned it would lose 90 %.
 */
static void
keep_the_rare(enum keys keys, double least)
{
	static struct run run;
	uint64_t due = 0;
	uint64_t kept = 0;

	init(&run, 1);
	run.keys = keys;
	simulate(&run, DUE, 0, 60);
	for (unsigned i = FREQUENT; i < SITES; i++) {
		due += run.site[i].due;
		kept += run.site[i].kept;
	}
	print_message("%llu of %llu of the rare kept, %.0f a second in all\n",
		(unsigned long long)kept, (unsigned long long)due, (double)run.kept / 60);
	/* 3600 are due: the standard deviation of 5 % lost is 0.4 %. */
	assert_true((double)kept >= least * (double)due);
	assert_in_range(run.kept, 0.7 * TARGET * 60, 1.0 * TARGET * 60);
}

static void
the_rare_is_kept(void **state)
{
	(void)state;
	keep_the_rare(SAME_KEYS, 0.95);
}

/* A path to a call that is made a thousand times as often by others. */
static void
rare_paths_are_kept(void **state)
{
	(void)state;
	keep_the_rare(RARE_PATHS, 0.95);
}

/* Their near keys have a part of the target only. */
static void
rare_sites_are_kept_beside_many_paths(void **state)
{
	(void)state;
	keep_the_rare(MANY_PATHS, 0.3);
}

/* Sites that are met with less than the target are all kept. */
static void
nothing_is_thinned_without_need(void **state)
{
	struct run run;

	(void)state;
	init(&run, 2);
	simulate(&run, TARGET / 3.0, 0, 30);
	for (unsigned i = 0; i < SITES; i++)
		assert_int_equal(run.site[i].kept, run.site[i].due);
}

/* A new site is kept, however much is due otherwise. */
static void
a_new_site_is_kept(void **state)
{
	struct run run;

	(void)state;
	init(&run, 3);
	simulate(&run, 10 * DUE, 0, 5);
	assert_true(th_site_rates_count(&run.sites, same_key(1)) < 0.01);
	assert_true(th_site_rates_count(&run.sites, same_key(1000)) == 1);
}

#define FEW 8

/* Samples that are kept, as expected, of a roll with so many of the sites 1 and 2. */
static double
count_roll(struct th_site_rates *rates, unsigned roll, const unsigned *numbers)
{
	double kept = 0;

	for (unsigned i = 0; i < numbers[0]; i++)
		th_site_rates_count(rates, same_key(1));
	for (unsigned i = 0; i < numbers[1]; i++)
		kept += th_site_rates_count(rates, same_key(2));
	th_site_rates_roll(rates, (roll + 1) * ROLL, AIM * TARGET);
	return kept;
}

/* What comes regularly, if more than once between two rolls; not all of a surge of it. */
static void
what_is_usual_for_a_rare_site_is_kept(void **state)
{
	static struct th_site_rates rates;
	const double free = 2 * FEW + 4;
	double kept = 0;

	(void)state;
	th_site_rates_init(&rates, 0);
	for (unsigned roll = 0; roll < 50; roll++) {
		double of_roll = count_roll(&rates, roll, (unsigned[]){1000, FEW});

		kept += roll >= 10 ? of_roll : 0;
	}
	assert_true(kept == 40 * FEW);
	kept = count_roll(&rates, 50, (unsigned[]){1000, 50 * FEW});
	assert_true(kept > 2 * FEW);
	/* All of the first, and as many times the logarithm of the ratio. */
	assert_true(kept < free * (1 + log(50.0 * FEW / free)) + 1);
}

/*
 * A load that comes in a tenth of each second: as much is kept as of an even load, and with even
 * weights.  Their effective number (Kish, Survey Sampling, 1965) is that of samples of equal
 * weight that tell as much.
 */
static void
bursts_have_even_weights(void **state)
{
	const struct site *site;
	struct run run;

	(void)state;
	init(&run, 9);
	/* As with a budget. */
	th_rate_init(&run.rate, 4 * TARGET);
	for (int second = 0; second < 50; second++) {
		if (second == 10) {
			memset(run.site, 0, sizeof(run.site));
			run.kept = 0;
		}
		simulate(&run, 10 * DUE, second, second + 0.1);
		simulate(&run, 1, second + 0.1, second + 1);
	}
	site = &run.site[0];
	double effective = site->weights * site->weights / site->squares;
	print_message("%" PRIu64 " a second kept in bursts; %.0f of %" PRIu64
		      " samples of the largest site in effect\n",
		run.kept / 40, effective, site->kept);
	assert_true((double)run.kept / 40 >= 0.8 * AIM * TARGET);
	assert_true((double)run.kept / 40 <= TARGET);
	assert_true(effective >= 0.8 * (double)site->kept);
}

/* Blocks larger than the interval are due as before, whatever was expected of a new one. */
static void
a_wrong_forecast_is_forgotten(void **state)
{
	struct run run;

	(void)state;
	init(&run, 10);
	th_rate_init(&run.rate, 4 * TARGET);
	simulate(&run, DUE, 0, 10);
	th_site_rates_rescale(&run.sites, 8);
	simulate(&run, DUE, 10, 12);
	run.kept = 0;
	simulate(&run, DUE, 12, 14);
	print_message("%" PRIu64 " a second kept after a wrong forecast\n", run.kept / 2);
	assert_true((double)run.kept / 2 >= 0.6 * AIM * TARGET);
}

/* After a pause of the program its probabilities are those from before. */
static void
a_pause_changes_nothing(void **state)
{
	struct run run;

	(void)state;
	init(&run, 4);
	simulate(&run, DUE, 0, 10);
	double before = th_site_rates_count(&run.sites, same_key(1));

	for (uint64_t now = 10 * SECOND + ROLL; now <= 119 * SECOND / 10; now += ROLL)
		th_site_rates_roll(&run.sites, now, AIM * TARGET);
	assert_true(th_site_rates_count(&run.sites, same_key(1)) == before);
	for (uint64_t now = 12 * SECOND; now < 20 * SECOND; now += ROLL)
		th_site_rates_roll(&run.sites, now, AIM * TARGET);
	assert_true(th_site_rates_count(&run.sites, same_key(1)) == 1);
}

/* As many samples of each frequent site are kept, but of one with survivors. */
static void
sites_with_survivors_come_first(void **state)
{
	static struct run run;

	(void)state;
	init(&run, 5);
	run.leaks = 3;
	simulate(&run, DUE, 0, 60);
	print_message("%llu of %llu kept of a site with survivors, %llu of %llu of its "
		      "neighbour\n",
		(unsigned long long)run.site[3].kept, (unsigned long long)run.site[3].due,
		(unsigned long long)run.site[4].kept, (unsigned long long)run.site[4].due);
	assert_true(run.site[3].kept > 3 * run.site[4].kept);
	assert_in_range(run.kept, 0.7 * TARGET * 60, 1.0 * TARGET * 60);
}

/* Coverage */

#define RUNS 400
#define SECONDS 6

struct coverage {
	unsigned sites;
	unsigned covered;
	double error; /* sum of relative errors, and of their squares */
	double squares;
};

static void
add_site(struct coverage *coverage, const struct site *site, double part)
{
	double truth = part * DUE * SECONDS * INTERVAL;
	struct th_estimate estimate = th_estimate_bytes(&site->estimator, NULL, INTERVAL);
	double error = estimate.estimate / truth - 1;

	coverage->sites++;
	coverage->covered += truth >= estimate.low && truth <= estimate.high;
	coverage->error += error;
	coverage->squares += error * error;
}

static void
check(const char *name, const struct coverage *coverage, double low, double high)
{
	double covered = (double)coverage->covered / coverage->sites;
	double bias = coverage->error / coverage->sites;
	double deviation = sqrt(coverage->squares / coverage->sites);

	print_message("%s sites: truth in the interval %.1f %%, bias %.2f %%, error %.0f %%\n",
		name, 100 * covered, 100 * bias, 100 * deviation);
	/* 4 standard errors of the mean: once in 16,000. */
	assert_true(fabs(bias) < 4 * deviation / sqrt(coverage->sites));
	assert_true(covered >= low && covered <= high);
}

/*
 * 8000 sites each: the standard error of a coverage of 95 % is 0.25 %.  The rare have 18 samples,
 * and intervals that cover more than 95 % (docs/statistics.md).
 */
static void
estimates_are_unbiased(void **state)
{
	struct coverage frequent = {0};
	struct coverage rare = {0};
	static struct run run;

	(void)state;
	for (uint64_t i = 0; i < RUNS; i++) {
		init(&run, 1000 + i);
		simulate(&run, DUE, 0, SECONDS);
		for (unsigned k = 0; k < SITES; k++)
			add_site(k < FREQUENT ? &frequent : &rare, &run.site[k], parts()[k]);
	}
	check("frequent", &frequent, 0.94, 0.975);
	check("rare", &rare, 0.94, 0.985);
}

/* Survivors are found after some samples, and forgotten again: what is kept depends on chance. */
static void
survivors_bias_nothing(void **state)
{
	struct coverage leaking = {0};
	static struct run run;

	(void)state;
	for (uint64_t i = 0; i < 4 * RUNS; i++) {
		init(&run, 5000 + i);
		run.leaks = 6;
		for (unsigned second = 0; second < SECONDS; second++) {
			simulate(&run, DUE, second, second + 1);
			if (second % 2)
				th_site_rates_forget_survivors(&run.sites);
		}
		add_site(&leaking, &run.site[run.leaks], parts()[run.leaks]);
	}
	check("leaking", &leaking, 0.93, 0.985);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rare_is_kept),
		cmocka_unit_test(rare_paths_are_kept),
		cmocka_unit_test(rare_sites_are_kept_beside_many_paths),
		cmocka_unit_test(nothing_is_thinned_without_need),
		cmocka_unit_test(a_new_site_is_kept),
		cmocka_unit_test(what_is_usual_for_a_rare_site_is_kept),
		cmocka_unit_test(bursts_have_even_weights),
		cmocka_unit_test(a_wrong_forecast_is_forgotten),
		cmocka_unit_test(a_pause_changes_nothing),
		cmocka_unit_test(sites_with_survivors_come_first),
		cmocka_unit_test(estimates_are_unbiased),
		cmocka_unit_test(survivors_bias_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
