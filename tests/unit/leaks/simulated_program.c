/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/leaks/simulated_program.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"

#define METHODS 40u
#define DEPTH_MAX 12u

/* Uniform in (0, 1). */
double
program_uniform(struct th_random *random)
{
	return ((double)(th_random_next(random) >> 11) + 0.5) / 0x1p53;
}

static double
between(struct simulated_program *simulation, double low, double high)
{
	return low + (high - low) * program_uniform(simulation->shape);
}

static uint32_t
below(struct simulated_program *simulation, uint32_t end)
{
	return (uint32_t)(th_random_next(simulation->shape) % end);
}

double
program_for_ever(struct simulated_program *simulation, double birth, double life)
{
	(void)simulation;
	(void)birth;
	(void)life;
	return HUGE_VAL;
}

static double
as_long(struct simulated_program *simulation, double birth, double life)
{
	(void)simulation;
	(void)birth;
	return life;
}

static double
at_random(struct simulated_program *simulation, double birth, double life)
{
	(void)birth;
	return -life * log(program_uniform(&simulation->random));
}

/* Emptied every `life`. */
static double
until_emptied(struct simulated_program *simulation, double birth, double life)
{
	(void)simulation;
	return life - fmod(birth, life);
}

void
program_allocate(struct simulated_program *simulation, struct program_course course)
{
	double gap = (course.to - course.from) / course.samples;

	for (double birth = course.from - gap * log(program_uniform(&simulation->random));
		birth < course.to; birth -= gap * log(program_uniform(&simulation->random))) {
		double end = birth + course.life_of(simulation, birth, course.life);
		uint32_t sparser = birth >= simulation->sparse_from ? simulation->sparser : 1;

		if (sparser > 1 && program_uniform(&simulation->random) * sparser >= 1)
			continue;
		uint64_t id = log_native(&simulation->log,
			(struct log_sample){.ms = (uint32_t)birth,
				.size = SIMULATED_SIZE,
				.interval = SIMULATED_INTERVAL * (uint64_t)sparser,
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
allocate_cleanly(struct simulated_program *simulation, uint32_t stack, bool is_lazy)
{
	double start = between(simulation, 0, 0.7 * END_MS);
	double stop = between(simulation, 0.1 * END_MS, 0.7 * END_MS);
	double many = between(simulation, 5, 100);
	double few = between(simulation, 1, 12);
	double short_life = between(simulation, 5, 500);
	double long_life = between(simulation, 1000, 3000);
	const struct program_course courses[COURSES] = {
		{stack, 0, END_MS, 4 * many, at_random, short_life},           /* churn */
		{stack, 0, END_MS, many, at_random, long_life},                /* cache */
		{stack, 0, END_MS, many, as_long, long_life},                  /* queue */
		{stack, 0, END_MS, many, until_emptied, long_life},            /* batches */
		{stack, 0, 0.2 * END_MS, many, program_for_ever, 0},           /* start-up */
		{stack, 0, stop, many, program_for_ever, 0},                   /* filled */
		{stack, start, start + 100, few, program_for_ever, 0},         /* made once */
		{stack, start, start + 0.2 * END_MS, few, program_for_ever, 0} /* step */
	};

	program_allocate(
		simulation, courses[is_lazy ? LASTING + below(simulation, COURSES - LASTING)
					    : below(simulation, COURSES)]);
}

/*
 * A stack of up to DEPTH_MAX methods above a C function. The method at a depth is one of a few,
 * few of them near the root, so that paths branch.
 */
static void
add_random_stack(struct simulated_program *simulation, uint32_t stack)
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
define_names(struct simulated_program *simulation)
{
	leaks_begin_sampled(&simulation->log, SIMULATED_INTERVAL);
	for (uint32_t i = 0; i < METHODS + 3 * DEPTH_MAX; i++) {
		char *class = th_format_new("Lapp/Class%uOf;", i);

		log_method(&simulation->log, METHOD_FIRST + i, class, "run");
		free(class);
	}
	log_method(&simulation->log, METHOD_LEAKY, "Lapp/Leaky;", "handle");
}

void
program_begin(struct simulated_program *simulation, uint64_t seed)
{
	th_random_seed(&simulation->random, seed);
	simulation->shape = &simulation->random;
	simulation->sparser = 1;
	define_names(simulation);
}

void
program_begin_process(struct simulated_program *simulation, uint64_t shape, uint64_t seed)
{
	th_random_seed(&simulation->random, seed);
	th_random_seed(&simulation->other, shape);
	simulation->shape = &simulation->other;
	simulation->sparser = 1;
	define_names(simulation);
}

void
program_allocate_all(struct simulated_program *simulation, bool is_lazy)
{
	for (uint32_t i = 0; i < SIMULATED_SITES; i++) {
		add_random_stack(simulation, STACK_FIRST + i);
		allocate_cleanly(simulation, STACK_FIRST + i, is_lazy);
	}
}
