/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Factors for the unseen part of samples, which make their sums equal counted bytes.
 *
 * Every thread with enough samples in a stratum is a group; the others of a stratum form one. Of a
 * group, the bytes A are counted, and u, v are the sums of the unseen part and its variance. If all
 * samples of the group have the same weight w = v/u, the factor is (A - seen) / u. Samples of
 * different weights, because a ring has thinned out some, have different errors, and
 * A - seen - u is most likely the error of the heavy ones: it is divided in proportion to the
 * variances, as the regression estimator does (Deville and Sarndal, JASA 1992),
 *
 *     factor = 1 + x,  x = lambda w,  lambda = (A - seen - u) / v
 *
 * or 1 / (1 - x) for negative x, where no factor may be below 0, with the lambda that fits.
 */
#ifndef TH_REPORT_STATISTICS_FACTORS_H
#define TH_REPORT_STATISTICS_FACTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/statistics/estimate.h"
#include "report/statistics/strata.h"

/* A factor from fewer samples would be noise rather than a correction. */
#define TH_SAMPLES_PER_FACTOR 100

/* Samples of one thread, stratum and class of keep. */
struct th_factor_part {
	struct th_sums sums; /* with factor 1 */
	double factor;       /* the result */
};

/* A thread in a stratum. */
struct th_factor_cell {
	uint64_t samples;
	double bytes; /* counted bytes */
};

/* By thread, then stratum, then class. */
struct th_factors {
	const struct th_strata *strata;
	struct th_factor_cell *cells;
	struct th_factor_part *parts;
	size_t cell_count;
	bool *is_unknown; /* by thread: its bytes are not counted, its factors stay 1 */
	double *others;   /* by stratum: counted bytes of threads without a cell */
	double untimed;   /* the same, of an unknown stratum */
};

void th_factors_init(
	struct th_factors *factors, const struct th_strata *strata, size_t thread_count);
void th_factors_deinit(struct th_factors *factors);

/* Adds a sample of the thread with that index, whose bytes, with factor 1, are `sums`. */
void th_factors_add(struct th_factors *factors, size_t thread, const struct th_sample *sample,
	const struct th_sums *sums);

/* Adds counted bytes. */
static inline void
th_factors_count(struct th_factors *factors, size_t thread, uint32_t stratum, double bytes)
{
	factors->cells[thread * factors->strata->count + stratum].bytes += bytes;
}

/* Sets the factor of every part, from the sums and counts. */
void th_factors_find(struct th_factors *factors);

/* The factors of a thread, by th_strata_part(). */
static inline double
th_factors_get(const struct th_factors *factors, size_t thread, uint32_t part)
{
	return factors->parts[thread * factors->strata->count * factors->strata->keeps + part]
		.factor;
}

#endif
