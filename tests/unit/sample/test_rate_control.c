/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate control in simulated time, at a target of 300 samples per second: the number kept in
 * any second of several loads, the use of the target, the time to settle, and the coverage of
 * estimates from the kept samples.
 *
 * A load is a number of samples due per second.  Where estimates are checked, blocks are
 * allocated at the corresponding rate, each is sampled by the common method, and the true value
 * is their sum.
 *
 *     test_rate_control also prints a line for each load
 *
 * Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/statistics/estimate.h"
#include "unify/sample/plan.h"
#include "unify/sample/poisson.h"
#include "unify/sample/rate_control.h"

#define TARGET 300
#define INTERVAL (512u * 1024)
#define SECOND UINT64_C(1000000000)
/* A step of the simulation: much shorter than a window, so that a load changes within one. */
#define TICK UINT64_C(250000)
/* 95 % of 400 runs: 93 and 97 % are 1.8 standard deviations away. */
#define RUNS 400
#define COVERED_LOW 0.93
#define COVERED_HIGH 0.97

/* Samples due per second of a lane at time t, in seconds. */
typedef double load(double t, int lane);

static const uint64_t sizes[] = {64 * 1024, 200 * 1024, 1024 * 1024};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct run {
	struct th_rate rate;
	struct th_plan plan; /* moves the intervals */
	struct th_plan_figures figures;
	struct th_random random;
	struct th_estimator estimator;
	double truth; /* bytes */
	double owed[2];
	double blocks_per_sample;    /* allocated per sample that the load makes due */
	uint64_t probed_interval[2]; /* intervals for which `probability` was computed */
	double probability[2][SIZES];
	uint64_t *kept; /* times of kept samples */
	size_t kept_count;
	size_t kept_room;
	uint64_t due;
	uint64_t most; /* maximum kept in any second */
	double gaps;   /* of kept samples, interval / keep: sum, and sum of squares */
	double squares;
	size_t first; /* first of the last second, in `kept` */
};

static double
mean_probability(uint64_t interval)
{
	double sum = 0;

	for (size_t i = 0; i < SIZES; i++)
		sum += th_sampler_probability(sizes[i], interval);
	return sum / SIZES;
}

/* Lane 0 is the Java heap, lane 1 the C heap. */
static uint64_t
interval_of(const struct run *run, int lane)
{
	return th_plan_interval(&run->plan, (enum th_heap)(lane + 1));
}

static void
init(struct run *run, uint64_t seed)
{
	const struct th_plan_limits limits = {.interval = INTERVAL,
		.least_interval = INTERVAL,
		.most_interval = INT32_MAX,
		.rate = TARGET};

	*run = (struct run){0};
	th_rate_init(&run->rate, th_plan_init(&run->plan, &limits, 0));
	th_random_seed(&run->random, seed);
	run->blocks_per_sample = 1 / mean_probability(INTERVAL);
}

static void
deinit(struct run *run)
{
	free(run->kept);
}

static void
note_kept(struct run *run, uint64_t now)
{
	if (run->kept_count == run->kept_room) {
		run->kept_room = run->kept_room ? 2 * run->kept_room : 4096;
		run->kept = realloc(run->kept, run->kept_room * sizeof(*run->kept));
		assert_non_null(run->kept);
	}
	run->kept[run->kept_count++] = now;
	while (run->kept[run->first] + SECOND <= now)
		run->first++;
	/* The first window does not count. */
	while (run->kept[run->first] < TH_RATE_WINDOW_NS && run->first + 1 < run->kept_count)
		run->first++;
	if (run->kept_count - run->first > run->most)
		run->most = run->kept_count - run->first;
}

/* A sample of `size` bytes is due. */
static void
sample(struct run *run, uint64_t now, uint64_t size, uint64_t interval, int lane)
{
	double keep;

	if (th_rate_is_due(&run->rate, now))
		th_rate_roll(&run->rate, now);
	keep = th_rate_count(&run->rate, now);
	assert_true(keep > 0 && keep <= 1);
	run->due++;
	run->figures.due[lane]++;
	if (th_random_unit(&run->random) > keep)
		return;
	th_rate_keep(&run->rate);
	run->figures.kept++;
	note_kept(run, now);
	run->gaps += (double)interval / keep;
	run->squares += ((double)interval / keep) * ((double)interval / keep);
	th_estimator_add(&run->estimator, size, interval, keep, 1);
}

/* Of a block of sizes[which]; recomputed when the lane's interval has changed. */
static double
probability(struct run *run, size_t which, uint64_t interval, int lane)
{
	if (run->probed_interval[lane] != interval) {
		run->probed_interval[lane] = interval;
		for (size_t i = 0; i < SIZES; i++)
			run->probability[lane][i] = th_sampler_probability(sizes[i], interval);
	}
	return run->probability[lane][which];
}

static double
mean_size(void)
{
	double sum = 0;

	for (size_t i = 0; i < SIZES; i++)
		sum += (double)sizes[i];
	return sum / SIZES;
}

/* One tick of a lane: blocks of all sizes in turn, as many as the load requires. */
static void
tick(struct run *run, uint64_t now, double due, int lane)
{
	run->owed[lane] += due * run->blocks_per_sample;
	for (; run->owed[lane] >= 1; run->owed[lane]--) {
		size_t which = th_random_next(&run->random) % SIZES;
		uint64_t interval = interval_of(run, lane);

		run->truth += (double)sizes[which];
		if (th_random_unit(&run->random) <= probability(run, which, interval, lane))
			sample(run, now, sizes[which], interval, lane);
	}
}

/* As the agent thread does every 20 ms; without load no other thread would. */
static void
keep_house(struct run *run, uint64_t now)
{
	th_rate_roll(&run->rate, now);
	if (!th_plan_is_due(&run->plan, now))
		return;
	struct th_plan_target target = th_plan_review(&run->plan, now, &run->figures);
	th_rate_set_target(&run->rate, target.rate);
	if (target.all_factor < 1)
		th_rate_rescale(&run->rate, target.all_factor);
}

static void
simulate(struct run *run, load *of, double from, double to)
{
	for (uint64_t now = (uint64_t)(from * SECOND); now < (uint64_t)(to * SECOND);
		now += TICK) {
		double t = (double)now / SECOND;

		if (now % (2 * TH_RATE_WINDOW_NS) < TICK)
			keep_house(run, now + 1);
		for (int lane = 0; lane < 2; lane++)
			tick(run, now + 1, of(t, lane) * TICK / SECOND, lane);
	}
}

/* Kept per second in [from, to). */
static double
kept_rate(const struct run *run, double from, double to)
{
	size_t count = 0;

	for (size_t i = 0; i < run->kept_count; i++) {
		double t = (double)run->kept[i] / SECOND;

		count += t >= from && t < to;
	}
	return (double)count / (to - from);
}

/* Loads */

static double
constant_at_target(double t, int lane)
{
	(void)t;
	return lane ? 0 : TARGET;
}

static double
constant_far_above(double t, int lane)
{
	(void)t;
	return lane ? 20 * TARGET : 10 * TARGET;
}

/* Up at 3 s, down at 6 s. */
static double
step(double t, double low)
{
	return t >= 3 && t < 6 ? 100 * low : low;
}

static double
steps_from_target(double t, int lane)
{
	return lane ? 0 : step(t, TARGET);
}

static double
steps_from_below(double t, int lane)
{
	return lane ? 0 : step(t, TARGET / 10);
}

static double
steps_from_far_below(double t, int lane)
{
	return lane ? step(t, TARGET / 60.0) : 0;
}

/* 10 ms every second, not aligned with the windows: 40 times the target in each. */
static double
bursts(double t, int lane)
{
	return !lane && fmod(t * 1.0, 1) >= 0.333 && fmod(t, 1) < 0.343 ? 40 * TARGET * 100 : 0;
}

static double
small_bursts(double t, int lane)
{
	return bursts(t, lane) / 20;
}

static double
silence(double t, int lane)
{
	return !lane && (t < 2 || t > 7) ? 5 * TARGET : 0;
}

/* One heap at a time, half a second each. */
static double
opposite_lanes(double t, int lane)
{
	return ((int)(t * 2) & 1) == lane ? 30 * TARGET : 0;
}

/* Unequal, so that the sum jumps back and forth too. */
static double
unequal_lanes(double t, int lane)
{
	return ((int)(t * 2) & 1) == lane ? (lane ? 50 : 2) * TARGET : 0;
}

/* From 0 to 50 times the target in an hour. */
static double
ramp(double t, int lane)
{
	return lane ? 0 : 50 * TARGET * t / 3600;
}

/* Tests */

struct scenario {
	const char *name;
	load *of;
	double seconds;
	double used_from; /* between these times the load permits full use of the target */
	double used_to;
};

static void
check_scenario(const struct scenario *scenario)
{
	struct run run;
	double used;

	init(&run, 7);
	simulate(&run, scenario->of, 0, scenario->seconds);
	used = kept_rate(&run, scenario->used_from, scenario->used_to) / TARGET;
	print_message("%-24s due %8llu  kept %7zu  most in a second %3llu  used %3.0f %%\n",
		scenario->name, (unsigned long long)run.due, run.kept_count,
		(unsigned long long)run.most, 100 * used);
	assert_true(run.most <= TARGET * 1.1);
	assert_true(used >= 0.7);
	deinit(&run);
}

static void
constant(void **state)
{
	(void)state;
	check_scenario(&(struct scenario){"at the target", constant_at_target, 120, 1, 120});
	check_scenario(
		&(struct scenario){"30 times the target", constant_far_above, 60, 0, 60});
}

static void
steps(void **state)
{
	(void)state;
	check_scenario(
		&(struct scenario){"steps from the target", steps_from_target, 10, 3, 6});
	check_scenario(&(struct scenario){"steps from a tenth", steps_from_below, 10, 3, 6});
	check_scenario(
		&(struct scenario){"steps from a sixtieth", steps_from_far_below, 10, 3, 6});
}

static void
short_bursts(void **state)
{
	(void)state;
	check_scenario(&(struct scenario){"bursts of 40", bursts, 30, 1, 30});
	check_scenario(&(struct scenario){"bursts of 2", small_bursts, 30, 1, 30});
}

static void
silence_between(void **state)
{
	(void)state;
	check_scenario(&(struct scenario){"silence, then load", silence, 12, 7, 12});
}

static void
two_lanes(void **state)
{
	(void)state;
	check_scenario(
		&(struct scenario){"lanes in opposite phase", opposite_lanes, 30, 1, 30});
	check_scenario(&(struct scenario){"unequal lanes", unequal_lanes, 30, 1, 30});
}

/* Seconds here are many minutes under an emulator of another processor. */
static void
skip_if_emulated(void)
{
	if (getenv("TH_TEST_RUNNER"))
		skip();
}

static void
slow_ramp(void **state)
{
	(void)state;
	skip_if_emulated();
	check_scenario(&(struct scenario){"ramp over an hour", ramp, 3600, 200, 3600});
}

/* Fraction of due samples kept from `from` on, a second after `of` changed. */
static double
kept_part(struct run *run, load *of, double from, double to)
{
	size_t kept = run->kept_count;
	uint64_t due = run->due;

	simulate(run, of, from, to);
	return run->due == due ? 1
			       : (double)(run->kept_count - kept) / (double)(run->due - due);
}

/*
 * One second after a step up the target is used; one second after a step down all samples are
 * kept again, except for the additional windows for which a second is remembered.
 */
static void
settles_within_a_second(void **state)
{
	load *const loads[] = {steps_from_target, steps_from_below, steps_from_far_below};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run run;
		const double held = 1 + TH_RATE_HOLD / (double)TH_RATE_SECOND;

		init(&run, 11 + i);
		simulate(&run, loads[i], 0, 6 + held);
		assert_true(kept_rate(&run, 4, 5) >= 0.75 * TARGET);
		assert_true(kept_rate(&run, 4, 5) <= 1.1 * TARGET);
		double part = kept_part(&run, loads[i], 6 + held, 7.5);
		assert_true(part >= (i == 0 ? 0.8 : 1));
		deinit(&run);
	}
}

/* The interval is raised under high load, and never lowered below the configured one. */
static void
interval_follows_the_load(void **state)
{
	struct run run;

	(void)state;
	init(&run, 13);
	simulate(&run, constant_far_above, 0, 40);
	/*
	 * Blocks far below the interval: their bytes per second / N = what is due per second.
	 * Each lane has half of the target.
	 */
	double wanted = 10 / mean_probability(INTERVAL) * mean_size() * 2;
	assert_in_range(interval_of(&run, 0), wanted * 0.7, wanted * 1.4);
	assert_in_range(interval_of(&run, 1), 2 * wanted * 0.7, 2 * wanted * 1.4);
	uint64_t due = run.due;
	simulate(&run, constant_far_above, 40, 41);
	assert_in_range(run.due - due, 0.7 * TARGET, 1.5 * TARGET);
	simulate(&run, constant_at_target, 41, 80);
	assert_int_equal(interval_of(&run, 0), INTERVAL);
	deinit(&run);
}

/* A load far above the target is soon reduced by the interval: due samples also cost time. */
static void
interval_follows_soon(void **state)
{
	struct run run;

	(void)state;
	init(&run, 17);
	simulate(&run, constant_far_above, 0, 4);
	uint64_t due = run.due;
	simulate(&run, constant_far_above, 4, 5);
	assert_true((double)(run.due - due) < 1.5 * TARGET);
	/* Samples that were due before do not thin current ones. */
	assert_true(kept_rate(&run, 1, 5) >= 0.85 * TARGET);
	deinit(&run);
}

/* A program that pauses briefly, for a collection or on a busy machine. */
static double
stalls(double t, int lane)
{
	return lane || fmod(t, 5.3) < 0.9 ? 0 : 8 * TARGET;
}

/*
 * Samples of different weight have less information than their number: that of (sum w)^2 / sum
 * w^2 samples of equal weight (Kish).  231 kept samples per second were equivalent to 73 when
 * each stall lowered the interval.
 */
static void
a_stall_costs_no_precision(void **state)
{
	struct run run;

	(void)state;
	init(&run, 19);
	simulate(&run, stalls, 0, 120);
	double effective = run.gaps * run.gaps / run.squares / 120;
	print_message("stalls: %.0f a second kept, %.0f in effect\n", kept_rate(&run, 0, 120),
		effective);
	assert_true(effective >= 0.5 * TARGET);
	deinit(&run);
}

static void
no_cap_keeps_everything(void **state)
{
	struct th_rate rate;

	(void)state;
	th_rate_init(&rate, 0);
	for (uint64_t now = 1; now < 3 * SECOND; now += 10000) {
		th_rate_roll(&rate, now);
		assert_true(th_rate_count(&rate, now) == 1);
		th_rate_keep(&rate);
	}
}

/* After a sleep of hours the last second is empty, and rolling is not slower. */
static void
long_sleep(void **state)
{
	struct th_rate rate;

	(void)state;
	th_rate_init(&rate, TARGET);
	for (uint64_t now = 1; now < 2 * SECOND; now += 10000) {
		th_rate_roll(&rate, now);
		th_rate_count(&rate, now);
	}
	assert_true(th_rate_count(&rate, 2 * SECOND) < 0.1);
	th_rate_roll(&rate, 100000 * SECOND);
	assert_true(th_rate_count(&rate, 100000 * SECOND) == 1);
	assert_false(th_rate_is_due(&rate, 100000 * SECOND));
	assert_true(th_rate_is_due(&rate, 100000 * SECOND + TH_RATE_WINDOW_NS));
}

/* Estimates of whole runs */

static void
check_coverage(const char *name, load *of, double seconds)
{
	int below = 0;
	int above = 0;
	double sum = 0;
	double squares = 0;

	for (uint64_t i = 0; i < RUNS; i++) {
		struct run run;

		init(&run, 1000 + i);
		simulate(&run, of, 0, seconds);
		struct th_estimate estimate = th_estimate_bytes(&run.estimator, NULL, INTERVAL);
		double error = estimate.estimate / run.truth - 1;

		below += run.truth < estimate.low;
		above += run.truth > estimate.high;
		sum += error;
		squares += error * error;
		deinit(&run);
	}
	double covered = 1 - (double)(below + above) / RUNS;
	double deviation = sqrt(squares / RUNS);
	print_message(
		"%-24s truth in the interval %.1f %% (below %d, above %d of %d)  bias %.2f "
		"%%  error %.1f %%\n",
		name, 100 * covered, below, above, RUNS, 100 * sum / RUNS, 100 * deviation);
	assert_true(covered >= COVERED_LOW && covered <= COVERED_HIGH);
	/* The mean of RUNS errors is 4 standard errors from 0 once in 16,000. */
	assert_true(fabs(sum / RUNS) < 4 * deviation / sqrt(RUNS));
}

static void
estimates_are_unbiased(void **state)
{
	(void)state;
	skip_if_emulated();
	check_coverage("at the target", constant_at_target, 5);
	check_coverage("30 times the target", constant_far_above, 3);
	check_coverage("steps from a tenth", steps_from_below, 7);
	check_coverage("bursts of 40", bursts, 4);
	check_coverage("lanes in opposite phase", opposite_lanes, 4);
	check_coverage("unequal lanes", unequal_lanes, 4);
}

/*
 * A target that falls from one moment to the next: what was kept under the higher one does not
 * count against the lower, or the samples of a second would have enormous weights.
 */
static void
a_lower_target_is_no_punishment(void **state)
{
	struct th_rate rate;

	(void)state;
	th_rate_init(&rate, 10 * TARGET);
	for (uint64_t now = 1; now < 3 * SECOND; now += SECOND / (20 * TARGET)) {
		if (th_rate_is_due(&rate, now))
			th_rate_roll(&rate, now);
		if (now > 2 * SECOND)
			th_rate_set_target(&rate, TARGET);
		double keep = th_rate_count(&rate, now);

		/* 1 in 20, halved by the brake at most a few times. */
		if (now > 2 * SECOND)
			assert_true(keep > 0.9 / 20 / 8);
		if (now % 100 < (uint64_t)(100 * keep))
			th_rate_keep(&rate);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant),
		cmocka_unit_test(steps),
		cmocka_unit_test(short_bursts),
		cmocka_unit_test(silence_between),
		cmocka_unit_test(two_lanes),
		cmocka_unit_test(slow_ramp),
		cmocka_unit_test(settles_within_a_second),
		cmocka_unit_test(interval_follows_the_load),
		cmocka_unit_test(interval_follows_soon),
		cmocka_unit_test(a_stall_costs_no_precision),
		cmocka_unit_test(no_cap_keeps_everything),
		cmocka_unit_test(long_sleep),
		cmocka_unit_test(estimates_are_unbiased),
		cmocka_unit_test(a_lower_target_is_no_punishment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
