/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_SAMPLE_PROBABILITY_H
#define TESTS_UNIT_SAMPLE_PROBABILITY_H

#include <math.h>
#include <stdint.h>

#include "report/statistics/estimate.h"

/* Probability that a block of `size` bytes is sampled (unify/sample/poisson.h). */
static inline double
sampling_probability(uint64_t size, uint64_t interval)
{
	return interval ? -expm1(-(double)size / (double)interval) : 1;
}

/* The factor of struct th_estimator with which the sum of samples equals `exact` bytes. */
static inline double
exact_factor(const struct th_estimator *total, double exact)
{
	return total->bytes.unseen > 0 && exact > total->bytes.seen
		       ? (exact - total->bytes.seen) / total->bytes.unseen
		       : 1;
}

#endif
