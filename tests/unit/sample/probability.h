/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SAMPLE_PROBABILITY_H
#define TESTS_UNIT_SAMPLE_PROBABILITY_H

#include <math.h>
#include <stdint.h>

/* Probability that a block of `size` bytes is sampled (unify/sample/poisson.h). */
static inline double
sampling_probability(uint64_t size, uint64_t interval)
{
	return interval ? -expm1(-(double)size / (double)interval) : 1;
}

#endif
