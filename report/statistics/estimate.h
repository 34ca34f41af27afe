/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples to numbers with 95 % intervals. All functions are pure and allocate nothing.
 *
 * A block of s bytes was sampled with probability p = (1 - exp(-s/N)) * keep and represents 1/p
 * blocks: itself, which is certain, and 1/p - 1 unseen ones. Only the second part is uncertain,
 * so the sums keep the two separate. Sums of disjoint sets of samples add up.
 *
 * Where the exact total of a heap is known, every sample's unseen part is scaled by one factor
 * so that the whole is exact, and any set of samples becomes a share of that whole:
 *
 *     total   = sum over all samples              (factor 1)
 *     factor  = (exact bytes - total.bytes.seen) / total.bytes.unseen
 *     whole   = sum over all samples, each with its factor
 *     node    = sum over the node's samples, each with its factor
 *     th_estimate_exact(exact bytes, samples)     the whole
 *     th_estimate_bytes(&node, &whole)            a share of it
 *
 * Groups of threads may have separate factors; `whole` is then the sum over all groups. The
 * whole of the allocated bytes also calibrates any part of it: one stack, a time window, live
 * blocks. Without an exact total: factor 1 everywhere, whole NULL. docs/statistics.md has the
 * formulas, their sources and the measured coverage.
 */
#ifndef TH_REPORT_STATISTICS_ESTIMATE_H
#define TH_REPORT_STATISTICS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/base/format.h"

/* A number and its 95 % interval: low <= estimate <= high, all finite. */
struct th_estimate {
	double estimate;
	double low;  /* never below the certain (seen) part */
	double high; /* an upper bound even without samples: about 3.7 gaps */
	uint64_t samples;
	bool exact; /* counted, not estimated: low = estimate = high */
};

/* Sums over samples of a value v (bytes or 1) with inclusion probability p. */
struct th_sums {
	double seen;     /* v */
	double unseen;   /* v (1-p)/p */
	double variance; /* v^2 (1-p)/p^2 */
	double missed;   /* v (1-p) */
};

/* Zeroed: no samples. */
struct th_estimator {
	uint64_t samples;
	struct th_sums bytes;
	struct th_sums objects;
	double covariance; /* of bytes and objects: s (1-p)/p^2 */
};

/* Adds a sample: `size`, `interval` and `keep` of struct th_sample, and its factor. */
void th_estimator_add(struct th_estimator *estimator, uint64_t size, uint64_t interval,
	double keep, double factor);

/*
 * Adds a sample of which only `part` bytes count, for example the resident ones: its
 * probability still follows from its size.
 */
void th_estimator_add_part(struct th_estimator *estimator, double part, uint64_t size,
	uint64_t interval, double keep, double factor);

/*
 * The density of sampling of a heap, over a time in which it changed; zeroed: no samples.
 *
 * The gap at a time is the mean number of bytes between samples of small blocks, N / keep.
 * Where it is raised, a later sample represents many earlier ones, and a site without
 * a later sample may have more bytes than its samples show. The weight that one such sample may
 * have had is the thin gap: the root mean square of the gaps at which the heap's bytes were
 * allocated. If the gap never changed it is that gap.
 */
struct th_mean_interval {
	double bytes;
	double squares; /* of the gaps */
};

/*
 * Adds a sample: `size`, `interval` and `keep` of struct th_sample; `unseen`: the keep of a sample
 * that was missed, at least `keep`: 1 if a ring would not have thinned it out. A sample that was
 * certain because every allocation was recorded has no gap and is left out.
 */
void th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double unseen);

/* The thin gap in bytes; 0 without samples that were not certain. */
double th_mean_interval_thin(const struct th_mean_interval *gaps);

/* Adds the sums of a disjoint set. */
void th_sums_merge(struct th_sums *sums, const struct th_sums *other);

/* Adds the samples of a disjoint set. */
void th_estimator_merge(struct th_estimator *estimator, const struct th_estimator *other);

/* Removes a subset that was added or merged before, for example freed blocks. */
void th_estimator_subtract(struct th_estimator *estimator, const struct th_estimator *part);

/*
 * The bytes or objects that samples represent, without an interval: cheap enough for sorting.
 */
static inline double
th_sums_point(const struct th_sums *sums)
{
	return sums->seen + sums->unseen;
}

/*
 * Bytes or objects that the samples represent. `whole` is the calibrated whole that they are
 * part of, or NULL. `gap`: mean bytes between samples of small blocks where sampling was
 * sparse, th_mean_interval_thin(); the interval, if that never changed; 0: everything was
 * recorded. It determines how much one more sample might have represented. A number of objects
 * assumes that unseen blocks are like the seen ones: a few unseen bytes can be any number of
 * small blocks. Without samples it assumes blocks of 16 bytes.
 */
struct th_estimate th_estimate_bytes(
	const struct th_estimator *estimator, const struct th_estimator *whole, double gap);
struct th_estimate th_estimate_objects(
	const struct th_estimator *estimator, const struct th_estimator *whole, double gap);

/* A counted number. */
struct th_estimate th_estimate_exact(double value, uint64_t samples);

/*
 * Sum and difference of independent estimates, intervals by MOVER (Zou and Donner, Statistics
 * in Medicine 2008).
 */
struct th_estimate th_estimate_sum(const struct th_estimate *a, const struct th_estimate *b);
struct th_estimate
th_estimate_difference(const struct th_estimate *a, const struct th_estimate *b);

/* An estimate of `factor` times as much; `factor` is not negative. */
struct th_estimate th_estimate_scale(struct th_estimate estimate, double factor);

/*
 * Widens the interval by an error of the sampling itself, `relative` of the estimate. Values
 * that cannot be negative stay so.
 */
struct th_estimate th_estimate_widen(const struct th_estimate *estimate, double relative);

/* The interval in the format of th_format_interval(); "exact" for a counted number. */
struct th_number th_estimate_interval(const struct th_estimate *estimate, enum th_unit unit);

#endif
