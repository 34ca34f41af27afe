/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated programs with fixed seeds: how often clean ones get a verdict of leak, how often
 * leaks are found, and whether the detection limit is what it says. Samples are of small blocks,
 * one every INTERVAL bytes on average.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/base/allocate.h"
#include "tests/unit/leaks/leaks_fixture.h"
#include "unify/sample/poisson.h"

#define INTERVAL (512u << 10)
#define SIZE 64u
#define CLEAN_PROGRAMS 400
#define LEAKING_PROGRAMS 200
#define LIMIT_PROGRAMS 400
#define SITES 60u
#define METHODS 40u
#define DEPTH_MAX 12u
#define LEAK_STACKS 30u
enum { METHOD_FIRST = 100, METHOD_LEAKY = 200, STACK_FIRST = 100, STACK_LEAK = 300 };

struct simulation {
	struct th_random random;
	struct log_builder log;
};

/* Uniform in (0, 1). */
static double
uniform(struct simulation *simulation)
{
	return ((double)(th_random_next(&simulation->random) >> 11) + 0.5) / 0x1p53;
}

static double
between(struct simulation *simulation, double low, double high)
{
	return low + (high - low) * uniform(simulation);
}

static uint32_t
below(struct simulation *simulation, uint32_t end)
{
	return (uint32_t)(th_random_next(&simulation->random) % end);
}

/* Allocations of a site, in milliseconds; `life_of` is the lifetime, infinite: never freed. */
struct course {
	uint32_t stack;
	double from;
	double to;
	double samples; /* expected between the two */
	double (*life_of)(struct simulation *simulation, double birth, double life);
	double life;
};

static double
for_ever(struct simulation *simulation, double birth, double life)
{
	(void)simulation;
	(void)birth;
	(void)life;
	return HUGE_VAL;
}

static double
as_long(struct simulation *simulation, double birth, double life)
{
	(void)simulation;
	(void)birth;
	return life;
}

static double
at_random(struct simulation *simulation, double birth, double life)
{
	(void)birth;
	return -life * log(uniform(simulation));
}

/* Emptied every `life`. */
static double
until_emptied(struct simulation *simulation, double birth, double life)
{
	(void)simulation;
	return life - fmod(birth, life);
}

static void
allocate(struct simulation *simulation, struct course course)
{
	double gap = (course.to - course.from) / course.samples;

	for (double birth = course.from - gap * log(uniform(simulation)); birth < course.to;
		birth -= gap * log(uniform(simulation))) {
		double end = birth + course.life_of(simulation, birth, course.life);
		uint64_t id = log_native(
			&simulation->log, (struct log_sample){.ms = (uint32_t)birth,
						  .size = SIZE,
						  .interval = INTERVAL,
						  .thread = 1,
						  .stack = course.stack});

		if (end < END_MS)
			log_free(&simulation->log, (uint32_t)end, id);
	}
}

/* Courses, and the first of those that free nothing. */
enum { COURSES = 8, LASTING = 4 };

/*
 * One of the courses that memory takes in programs without a leak; in a lazy program only those
 * of memory that is kept: what it needs is made when it is first used.
 */
static void
allocate_cleanly(struct simulation *simulation, uint32_t stack, bool is_lazy)
{
	double start = between(simulation, 0, 0.7 * END_MS);
	double stop = between(simulation, 0.1 * END_MS, 0.7 * END_MS);
	double many = between(simulation, 5, 100);
	double few = between(simulation, 1, 12);
	double short_life = between(simulation, 5, 500);
	double long_life = between(simulation, 1000, 3000);
	const struct course courses[COURSES] = {
		{stack, 0, END_MS, 4 * many, at_random, short_life},   /* churn */
		{stack, 0, END_MS, many, at_random, long_life},        /* cache */
		{stack, 0, END_MS, many, as_long, long_life},          /* queue */
		{stack, 0, END_MS, many, until_emptied, long_life},    /* batches */
		{stack, 0, 0.2 * END_MS, many, for_ever, 0},           /* start-up */
		{stack, 0, stop, many, for_ever, 0},                   /* filled */
		{stack, start, start + 100, few, for_ever, 0},         /* made once */
		{stack, start, start + 0.2 * END_MS, few, for_ever, 0} /* step */
	};

	allocate(simulation, courses[is_lazy ? LASTING + below(simulation, COURSES - LASTING)
					     : below(simulation, COURSES)]);
}

/*
 * A stack of up to DEPTH_MAX methods above a C function. The method at a depth is one of a few,
 * few of them near the root, so that paths branch.
 */
static void
add_random_stack(struct simulation *simulation, uint32_t stack)
{
	uint64_t frames[DEPTH_MAX + 1];
	uint32_t depth = 2 + below(simulation, DEPTH_MAX - 1);

	frames[0] = th_frame_native(MODULE_WORK, 0x1000 + 16 * stack);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t branches = i < 4 ? 1 + i : 4;

		frames[depth - i] = th_frame_java(
			METHOD_FIRST + 3 * i + below(simulation, branches) % METHODS, 0);
	}
	log_stack(&simulation->log, stack, frames, depth + 1);
}

static void
begin(struct simulation *simulation, uint64_t seed)
{
	th_random_seed(&simulation->random, seed);
	leaks_begin_sampled(&simulation->log, INTERVAL);
	for (uint32_t i = 0; i < METHODS + 3 * DEPTH_MAX; i++) {
		char *class = th_format_new("Lapp/Class%u;", i);

		log_method(&simulation->log, METHOD_FIRST + i, class, "run");
		free(class);
	}
	log_method(&simulation->log, METHOD_LEAKY, "Lapp/Leaky;", "handle");
}

static void
allocate_program(struct simulation *simulation, bool is_lazy)
{
	for (uint32_t i = 0; i < SITES; i++) {
		add_random_stack(simulation, STACK_FIRST + i);
		allocate_cleanly(simulation, STACK_FIRST + i, is_lazy);
	}
}

/*
 * Clean programs of sixty sites each, with deep paths, every other one lazy: at most 2.5 % may have a finding of
 * verdict leak, which is TH_ERROR_RATE, with the tests of all levels. The expected number is 10
 * of 400, its deviation 3.1; the limit is 2.5 deviations above. Measured: see docs/leaks.md.
 */
static void
test_clean_programs(void **state)
{
	unsigned alarms = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= CLEAN_PROGRAMS; seed++) {
		struct simulation simulation;
		struct leaks_found found;

		begin(&simulation, seed);
		allocate_program(&simulation, seed % 2);
		leaks_find(&found, &simulation.log);
		alarms += th_leaks_has_leak(&found.leaks);
		leaks_end(&found, &simulation.log);
	}
	print_message("%u alarms in %u clean programs\n", alarms, CLEAN_PROGRAMS);
	assert_true(alarms <= 18);
}

/*
 * A leak of an expected number of samples over thirty stacks, which begin in C and have one line
 * of Java, or, if `lines`, a line each under one method.
 */
static void
allocate_leak(struct simulation *simulation, bool lines, double samples)
{
	for (uint32_t i = 0; i < LEAK_STACKS; i++) {
		const uint64_t c = th_frame_native(MODULE_WORK, 0x8000 + 16 * i);
		const uint64_t line = th_frame_java(METHOD_FIRST + i, 0);
		const uint64_t leaky = th_frame_java(METHOD_LEAKY, 0);
		const uint64_t main = th_frame_java(METHOD_MAIN, 0);
		const uint64_t of_line[] = {c, leaky, main};
		const uint64_t of_lines[] = {c, line, leaky, main};

		log_stack(&simulation->log, STACK_LEAK + i, lines ? of_lines : of_line,
			lines ? 4 : 3);
		allocate(simulation, (struct course){STACK_LEAK + i, 0, END_MS,
					     samples / LEAK_STACKS, for_ever, 0});
	}
}

/* Whether the only leak is that of app.Leaky.handle, at this level and with many parts. */
static bool
is_leak_found(const struct leaks_found *found, enum th_leak_level level)
{
	const struct th_finding *finding = &found->findings[0];
	const struct th_leak_site *place = &found->leaks.places.items[finding->place];
	uint32_t node = level == TH_LEVEL_LINE ? place->creator : finding->key;

	return th_leaks_has_leak(&found->leaks) && finding->level == level &&
	       finding->place_count >= LEAK_STACKS / 3 &&
	       !strcmp(th_frames_function_name(found->shown.profile->frames,
			       found->leaks.places.ways.items[node].function),
		       "app.Leaky.handle");
}

/*
 * Four tenths of the samples are old survivors from the later half. Of 40 samples that is 16,
 * while 8 are significant for a line; of 60 it is 24, while 10 are for the method above. At
 * least 95 % of 200 are found where they are.
 */
static void
find_spread_leaks(bool lines, enum th_leak_level level, double samples)
{
	unsigned found_count = 0;

	for (uint64_t seed = 1; seed <= LEAKING_PROGRAMS; seed++) {
		struct simulation simulation;
		struct leaks_found found;

		begin(&simulation, seed);
		allocate_program(&simulation, seed % 2);
		allocate_leak(&simulation, lines, samples);
		leaks_find(&found, &simulation.log);
		found_count += is_leak_found(&found, level);
		leaks_end(&found, &simulation.log);
	}
	print_message("%u of %u spread leaks found\n", found_count, LEAKING_PROGRAMS);
	assert_true(found_count >= 0.95 * LEAKING_PROGRAMS);
}

static void
test_leaks_of_a_line(void **state)
{
	(void)state;
	find_spread_leaks(false, TH_LEVEL_LINE, 40);
}

static void
test_leaks_of_a_method(void **state)
{
	(void)state;
	find_spread_leaks(true, TH_LEVEL_PATH, 60);
}

/* The detection limit */

/* A leak at a rate given in detection limits, sampled with a density that may halve. */
static bool
finds_leak(uint64_t seed, double limits, bool halves)
{
	struct simulation simulation;
	struct leaks_found found;
	bool is_found;

	/* The limit of the same recording without the leak. */
	for (int with_leak = 0;; with_leak++) {
		static double limit;

		begin(&simulation, seed);
		/* Garbage that shows the density. */
		for (uint32_t ms = 0; ms < END_MS; ms += 5) {
			uint64_t interval = halves && ms >= END_MS / 2 ? 2 * INTERVAL
								       : INTERVAL;

			log_free(&simulation.log, ms + 1,
				log_native(&simulation.log, (struct log_sample){.ms = ms,
								    .size = SIZE,
								    .interval = interval,
								    .thread = 1,
								    .stack = STACK_C}));
		}
		for (double ms = 0; with_leak && ms < END_MS;) {
			double interval = halves && ms >= END_MS / 2.0 ? 2.0 * INTERVAL
								       : INTERVAL;

			ms -= 1000 * interval / (limits * limit) * log(uniform(&simulation));
			if (ms < END_MS)
				log_native(&simulation.log,
					(struct log_sample){.ms = (uint32_t)ms,
						.size = SIZE,
						.interval = halves && ms >= END_MS / 2.0
								    ? 2 * INTERVAL
								    : INTERVAL,
						.thread = 1,
						.stack = STACK_WORK});
		}
		leaks_find(&found, &simulation.log);
		limit = found.leaks.growth_limit[TH_HEAP_NATIVE];
		is_found = th_leaks_has_leak(&found.leaks);
		leaks_end(&found, &simulation.log);
		if (with_leak)
			return is_found;
	}
}

/*
 * At the limit 95 % are found: of 400 at least 369, 2.5 deviations of 4.4 below 380. The
 * derivation takes the largest error of the tests of births, so slightly more may be. At a half
 * of the limit no more than two in three are: the limit is not a mere upper bound.
 */
static void
test_detection_limit(void **state)
{
	(void)state;
	for (int halves = 0; halves < 2; halves++) {
		unsigned at_limit = 0;
		unsigned at_half = 0;

		for (uint64_t seed = 1; seed <= LIMIT_PROGRAMS; seed++) {
			at_limit += finds_leak(seed, 1, halves);
			at_half += finds_leak(seed, 0.5, halves);
		}
		print_message("at the limit %u, at a half %u of %u\n", at_limit, at_half,
			LIMIT_PROGRAMS);
		assert_true(at_limit >= 369);
		assert_true(at_half <= 2 * LIMIT_PROGRAMS / 3);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean_programs),
		cmocka_unit_test(test_leaks_of_a_line),
		cmocka_unit_test(test_leaks_of_a_method),
		cmocka_unit_test(test_detection_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
