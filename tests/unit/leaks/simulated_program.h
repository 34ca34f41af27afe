/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated programs: sixty sites on random paths, each with one of the courses that memory takes
 * in a program without a leak. Samples are of small blocks, one every SIMULATED_INTERVAL bytes on
 * average.
 */
#ifndef TH_TESTS_SIMULATED_PROGRAM_H
#define TH_TESTS_SIMULATED_PROGRAM_H

#include "tests/unit/leaks/leaks_fixture.h"
#include "unify/sample/poisson.h"

#define SIMULATED_INTERVAL (512u << 10)
#define SIMULATED_SIZE 64u
#define SIMULATED_SITES 60u
enum { METHOD_FIRST = 100, METHOD_LEAKY = 200, STACK_FIRST = 100, STACK_LEAK = 300 };

struct simulated_program {
	struct th_random random; /* of one process: when it allocates and frees */
	struct th_random other;
	struct th_random *shape; /* of the program: its paths, courses and rates */
	struct log_builder log;
	double sparse_from; /* ms; from then on the sampling interval is `sparser` times as long */
	uint32_t sparser;
};

/* A process of a program of its own; its log is empty, and the sampling interval is constant. */
void program_begin(struct simulated_program *simulation, uint64_t seed);

/* The process `seed` of the program `shape`. */
void program_begin_process(struct simulated_program *simulation, uint64_t shape, uint64_t seed);

/* Uniform in (0, 1). */
double program_uniform(struct th_random *random);

/* Allocations of a site, in milliseconds; `life_of` is the lifetime, infinite: never freed. */
struct program_course {
	uint32_t stack;
	double from;
	double to;
	double samples; /* expected between the two */
	double (*life_of)(struct simulated_program *simulation, double birth, double life);
	double life;
};

void program_allocate(struct simulated_program *simulation, struct program_course course);

/* A `life_of`. */
double program_for_ever(struct simulated_program *simulation, double birth, double life);

/* All sites; in a lazy program those of memory that is kept: made when it is first used. */
void program_allocate_all(struct simulated_program *simulation, bool is_lazy);

#endif
