/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact totals, and sample weights that add up to them.
 *
 * The library counts every byte of each thread and writes the count with each sample, at the
 * thread's end and once a second. So the bytes A of a heap are known without sampling, and
 * every sample's weight is multiplied by a factor that makes the sum of weights equal A: one for
 * each thread with enough samples and class of weights, common ones for the others (factors.h).
 *
 * At a point in time (the end of a truncated log, the border of a window) a thread's count is
 * known as of its last record before. If that was a THREAD_BYTES record, nothing was sampled
 * since, and nothing is added. If it was a sample of s bytes with probability p, the estimate
 * is the bytes before that block plus s/p. That is unbiased: write S(n) for the bytes of the
 * first n blocks and E(n) for the expectation over them. Then
 *
 *     E(n) = p (S(n-1) + s/p) + (1-p) E(n-1),   and E(n-1) = S(n-1) gives E(n) = S(n)
 *
 * By the same recursion its variance has the unbiased estimate s^2 (1-p)/p^2, the
 * Horvitz-Thompson variance of that one sample. So the unknown end of a heap is estimated from
 * the last samples of its threads, and everything before it is exact.
 */
#ifndef TH_REPORT_STATISTICS_CALIBRATION_H
#define TH_REPORT_STATISTICS_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/estimate.h"
#include "report/statistics/factors.h"

/* A time range: from <= t < to, CLOCK_MONOTONIC nanoseconds. */
struct th_window {
	uint64_t from;
	uint64_t to;
};

/* The whole recording. */
#define TH_WINDOW_ALL ((const struct th_window){0, UINT64_MAX})

static inline bool
th_window_holds(const struct th_window *window, uint64_t time)
{
	return time >= window->from && time < window->to;
}

/* One heap in one window. */
struct th_calibration {
	bool is_recorded;   /* this heap was sampled at some time */
	bool is_calibrated; /* the weights add up to known bytes; else every factor is 1 */
	struct th_weight_classes classes;
	double *factors;   /* by name index, then class; equal for all names of a thread */
	uint64_t interval; /* bytes, th_recording_gap() */
	double gap;        /* where sampling was sparse, th_mean_interval_thin() */
	double live_gap;   /* the same of what is alive, which a ring thins out last */
	/* The whole of which estimates are shares: samples with their factors. */
	struct th_estimator whole;
	struct th_estimate bytes;   /* the window's total */
	struct th_estimate objects; /* never exact, except when every allocation was recorded */
	double unplaced;            /* bytes of the total that no sample represents */
	double total_error; /* relative uncertainty of the bytes that the weights add up to */
};

/*
 * Calibrates `heap` of the recording for `window`. If the counts at the window's borders are
 * not sufficient, its samples keep the factors of the whole recording.
 */
void
th_calibration_init(struct th_calibration *calibration, const struct th_recording *recording,
	enum th_heap heap, const struct th_window *window);
void th_calibration_deinit(struct th_calibration *calibration);

/*
 * Adds a sample of a recording; parts of a mapping count as one object. The other arguments are
 * those of th_estimator_add().
 */
static inline void
th_sample_add(struct th_estimator *sum, const struct th_recording *recording,
	const struct th_sample *sample, double keep, double factor)
{
	struct th_sums objects = sum->objects;

	th_estimator_add(sum, sample->size, th_recording_sample_interval(recording, sample),
		keep, factor);
	if (sample->is_part)
		sum->objects = objects;
}

/* The bytes that a sample represents which is observed with probability `keep`. */
static inline double
th_sample_bytes(
	const struct th_recording *recording, const struct th_sample *sample, double keep)
{
	struct th_estimator one = {0};

	th_sample_add(&one, recording, sample, (double)sample->keep * keep, 1);
	return th_sums_point(&one.bytes);
}

static inline double
th_calibration_factor(const struct th_calibration *calibration, const struct th_sample *sample)
{
	return calibration->factors[(size_t)sample->name * calibration->classes.count +
				    th_weight_class(&calibration->classes, sample)];
}

/* Adds a sample with its factor. */
static inline void
th_calibration_add(const struct th_calibration *calibration,
	const struct th_recording *recording, const struct th_sample *sample,
	struct th_estimator *sum)
{
	th_sample_add(sum, recording, sample, (double)sample->keep,
		th_calibration_factor(calibration, sample));
}

/*
 * The thin gap if each sample was kept with probability `keep` only. For a heap whose every
 * allocation was recorded it counts blocks, assumed to be like those of the heap.
 */
double th_calibration_thinned_gap(const struct th_calibration *calibration, double keep);

/*
 * What a part of the calibrated samples represents. A part that has every sample may still be
 * less than the whole, because blocks that were never sampled may be elsewhere. The whole is in
 * struct th_calibration.
 */
struct th_estimate
th_calibration_bytes(const struct th_calibration *calibration, const struct th_estimator *part);
struct th_estimate th_calibration_objects(
	const struct th_calibration *calibration, const struct th_estimator *part);

#endif
