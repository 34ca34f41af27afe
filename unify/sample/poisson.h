/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling method: a Poisson process over allocated bytes with mean interval N.  Pure
 * arithmetic on the caller's state, so that tests run exactly the code that runs in malloc.
 */
#ifndef TH_UNIFY_SAMPLE_POISSON_H
#define TH_UNIFY_SAMPLE_POISSON_H

#include <stdint.h>

struct th_random {
	uint64_t state[4]; /* xoshiro256++ */
};

/* Seeds `random` from one word (splitmix64); different words give independent streams. [any] */
void th_random_seed(struct th_random *random, uint64_t seed);

/* Next 64 uniform bits. [in-malloc] */
uint64_t th_random_next(struct th_random *random);

/* Uniform in (0, 1]. [in-malloc] */
double th_random_unit(struct th_random *random);

/*
 * Draws a thread's next countdown: the whole bytes of -N ln(U), N = `interval` bytes, at least
 * 0, and 0 if that is 0.  Each block subtracts its size; the block that takes the countdown below zero is
 * sampled.  Whole bytes are exact: a size is greater than -N ln(U) if and only if it is greater
 * than its integer part.  Does not use libm; its own ln has a relative error below 1e-12.
 * [in-malloc]
 */
int64_t th_sampler_draw(struct th_random *random, uint64_t interval);

#endif
