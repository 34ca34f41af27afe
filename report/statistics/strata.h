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

#endif
