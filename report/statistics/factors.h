/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Factors for the unseen part of samples, which make their sums equal counted bytes.
 *
 * Every thread with enough samples is a group; the others form one. Of a group, the bytes A are
 * counted, and u, v are the sums of the unseen part and its variance. If all samples of the group
 * have the same weight w = v/u, the factor is (A - seen) / u. Samples of different weights, because
 * the interval changed or a ring thinned them out, have different errors, and A - seen - u is most
 * likely the error of the heavy ones: it is divided in proportion to the variances, as the
 * regression estimator does (Deville and Sarndal, JASA 1992),
 *
 *     factor = 1 + x,  x = lambda w,  lambda = (A - seen - u) / v
 *
 * or 1 / (1 - x) for negative x, where no factor may be below 0, with the lambda that fits. Weights
 * are averaged by classes: powers of two of the gap, interval / keep.
 */
#ifndef TH_REPORT_STATISTICS_FACTORS_H
#define TH_REPORT_STATISTICS_FACTORS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/estimate.h"

/* A factor from fewer samples would be noise rather than a correction. */
#define TH_SAMPLES_PER_FACTOR 100

/* Of keep: smaller probabilities share the last class. */
#define TH_KEEP_CLASSES 16
/* Of intervals that occur; further ones share the last class. */
#define TH_INTERVAL_CLASSES 16

/* Samples that represent about the same number of bytes share a class. */
struct th_weight_classes {
	uint32_t intervals; /* number of classes of intervals, at least 1 */
	uint32_t count;     /* intervals times classes of keep */
	uint32_t *of;       /* by index of an interval in the recording */
	double gap;         /* mean bytes between samples, with keep */
};

void th_weight_classes_init(struct th_weight_classes *classes,
	const struct th_recording *recording, enum th_heap heap);
void th_weight_classes_deinit(struct th_weight_classes *classes);

/* 0: more than 1/2; 1: more than 1/4; and so on. */
static inline uint32_t
th_keep_class(const struct th_sample *sample)
{
	int exponent;

	if (!(sample->keep > 0 && sample->keep < 1))
		return 0;
	frexpf(sample->keep, &exponent);
	return exponent > 1 - TH_KEEP_CLASSES ? (uint32_t)-exponent : TH_KEEP_CLASSES - 1;
}

static inline uint32_t
th_weight_class(const struct th_weight_classes *classes, const struct th_sample *sample)
{
	return th_keep_class(sample) * classes->intervals + classes->of[sample->interval];
}

/* What is known of a thread. */
struct th_factor_thread {
	uint64_t samples;
	double bytes;    /* counted */
	bool is_unknown; /* its bytes are not counted, its factors stay 1 */
};

struct th_factors {
	const struct th_weight_classes *classes;
	struct th_factor_thread *threads;
	size_t thread_count;
	struct th_sums *sums; /* by thread, then class; with factor 1 */
	double *items;        /* the result, alike */
	double others;        /* counted bytes of threads without an entry */
};

void th_factors_init(struct th_factors *factors, const struct th_weight_classes *classes,
	size_t thread_count);
void th_factors_deinit(struct th_factors *factors);

/* Adds a sample of the thread with that index, whose bytes, with factor 1, are `sums`. */
void th_factors_add(struct th_factors *factors, size_t thread, const struct th_sample *sample,
	const struct th_sums *sums);

/* Sets the factors, from the sums and counts. */
void th_factors_find(struct th_factors *factors);

/* The factor of a thread's samples of a class. */
static inline double
th_factors_get(const struct th_factors *factors, size_t thread, uint32_t class)
{
	return factors->items[thread * factors->classes->count + class];
}

#endif
