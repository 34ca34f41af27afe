/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Factors for the unseen part of samples, which make their sums equal counted bytes.
 *
 * Every thread with enough samples is a group; the others form one. Of a group, the bytes A are
 * counted, and u, v are the sums of the unseen part and its variance. If all samples of the group
 * have the same weight w = v/u, the factor is (A - seen) / u. Samples of different weights, because
 * the interval changed or a ring has thinned out some, have different errors, and A - seen - u is
 * most likely the error of the heavy ones: of 4 GB at 8 MiB the samples say +-180 MB, of the same
 * at 32 KiB +-11 MB. It is divided in proportion to the variances, as the regression estimator does
 * (Deville and Sarndal, JASA 1992),
 *
 *     factor = 1 + x,  x = lambda w,  lambda = (A - seen - u) / v
 *
 * or 1 / (1 - x) for negative x, where no factor may be below 0, with the lambda that fits.
 */
#ifndef TH_REPORT_STATISTICS_FACTORS_H
#define TH_REPORT_STATISTICS_FACTORS_H

#include <math.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/estimate.h"

/* Of interval / keep: an interval has up to 64, a probability as a float up to 148 more. */
#define TH_WEIGHT_EXPONENTS 256

/* Samples whose interval / keep differs by less than a factor of four have one factor in a group. */
struct th_weight_classes {
	uint32_t count;     /* those that occur, at least 1 */
	uint8_t *intervals; /* exponents, by index of an interval in the recording */
	uint8_t numbers[TH_WEIGHT_EXPONENTS];
};

void th_weight_classes_init(struct th_weight_classes *classes,
	const struct th_recording *recording, enum th_heap heap);
void th_weight_classes_deinit(struct th_weight_classes *classes);

static inline uint32_t
th_weight_class_exponent(
	const struct th_weight_classes *classes, const struct th_sample *sample)
{
	int exponent = 0;

	if (sample->keep > 0 && sample->keep < 1)
		frexpf(sample->keep, &exponent);
	return classes->intervals[sample->interval] + (uint32_t)-exponent;
}

/* The number of a sample's class. */
static inline uint32_t
th_weight_class(const struct th_weight_classes *classes, const struct th_sample *sample)
{
	return classes->count < 2 ? 0
				  : classes->numbers[th_weight_class_exponent(classes, sample)];
}

/* A factor from fewer samples would be noise rather than a correction. */
#define TH_SAMPLES_PER_FACTOR 100

/* Samples of one thread and class. */
struct th_factor_part {
	struct th_sums sums; /* with factor 1 */
	double factor;       /* the result */
};

struct th_factor_thread {
	uint64_t samples;
	double bytes;    /* counted */
	bool is_unknown; /* its bytes are not counted, its factors stay 1 */
};

struct th_factors {
	uint32_t classes;
	size_t thread_count;
	struct th_factor_thread *threads;
	struct th_factor_part *parts; /* by thread, then class */
};

void th_factors_init(struct th_factors *factors, uint32_t classes, size_t thread_count);
void th_factors_deinit(struct th_factors *factors);

/* Adds a sample of the thread with that index, whose bytes, with factor 1, are `sums`. */
void th_factors_add(
	struct th_factors *factors, size_t thread, uint32_t class, const struct th_sums *sums);

/*
 * Sets the factor of every part, from the sums and counts. `gap`: mean bytes between samples of the
 * heap, with keep.
 */
void th_factors_find(struct th_factors *factors, double gap);

#endif
