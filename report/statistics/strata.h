/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strata of a heap: the times in which it was sampled with similar intervals.
 *
 * Where the interval changes, the error of a sparse time must not become the error of a dense
 * one: of 4 GB at 8 MiB the samples say +-180 MB, of the same at 32 KiB +-11 MB. So the exact
 * bytes of a thread are divided among the strata, and each is calibrated to its own.
 *
 * Every countdown has one interval, recorded with the sample that ends it, so the bytes between
 * two samples of a thread belong to the stratum of the second: whatever the time at which a
 * thread took up a change. A stratum of a thread ends with a sample, and the error of its
 * estimate up to a stopping time has mean 0 as at a fixed time (it is a martingale, block by
 * block). In a ring the sample at the border may be missing; that does not change the coverage
 * (tests/unit/statistics/test_strata.c).
 */
#ifndef TH_REPORT_STATISTICS_STRATA_H
#define TH_REPORT_STATISTICS_STRATA_H

#include <math.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/estimate.h"

struct th_strata {
	const struct th_recording *recording;
	enum th_heap heap;
	uint32_t count; /* at least 1; in order of the intervals */
	uint32_t keeps; /* classes of keep, at least 1; the number of each stratum */
	uint32_t *of;   /* by index of an interval in the recording */
	double *gaps;   /* by stratum: mean bytes between its samples, with keep */
};

/* Smaller probabilities of being kept share the last class. */
#define TH_KEEP_CLASSES 16

/* Intervals of the heap's samples that differ by less than a factor of two share a stratum. */
void th_strata_init(
	struct th_strata *strata, const struct th_recording *recording, enum th_heap heap);
void th_strata_deinit(struct th_strata *strata);

static inline uint32_t
th_strata_of(const struct th_strata *strata, const struct th_sample *sample)
{
	return strata->of[sample->interval];
}

/*
 * Samples of a stratum that were kept with different probabilities represent different numbers of
 * bytes.  0: more than 1/2; 1: more than 1/4; and so on.
 */
static inline uint32_t
th_strata_keep_class(const struct th_sample *sample)
{
	int exponent;

	if (!(sample->keep > 0 && sample->keep < 1))
		return 0;
	frexpf(sample->keep, &exponent);
	return exponent > 1 - TH_KEEP_CLASSES ? (uint32_t)-exponent : TH_KEEP_CLASSES - 1;
}

/* Stratum and class together: the number of parts, and that of a sample's. */
static inline uint32_t
th_strata_parts(const struct th_strata *strata)
{
	return strata->count * strata->keeps;
}

static inline uint32_t
th_strata_part(const struct th_strata *strata, const struct th_sample *sample)
{
	uint32_t stratum = th_strata_of(strata, sample);

	return strata->keeps < 2 ? stratum
				 : stratum * strata->keeps + th_strata_keep_class(sample);
}

/* The stratum in which the heap was at a time, by the next sample of any thread. */
uint32_t th_strata_at(const struct th_strata *strata, uint64_t time);

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
