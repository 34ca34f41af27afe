/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lifetimes of samples, from the events of their ends.
 *
 * A native block ends when it is freed, with nanosecond precision. A Java object ends when a
 * collection is observed to have cleared the reference to it, so it counts as alive until it is
 * judged: objects allocated after the last collection have not been judged. A young-generation
 * collection judges only young objects: an unreachable old object stays alive until an
 * old-generation collection, called a major one here, finds it.
 *
 * The end of some samples is not known: the table of live blocks was full, or a Java object
 * could not be followed. They are left out, and the others represent them as well: for every
 * figure about ends, the probability of a sample is multiplied by the known part of its heap's
 * bytes. A table of Java objects that was thinned adds its 2^-level.
 *
 * Under a collector whose young collections keep followed objects alive (generational Z), few
 * Java objects are followed, each with a probability that is in the log (JAVA_FOLLOWED). They
 * give a ratio estimate (Hajek): weights are scaled so that the judged objects of a site
 * represent all its objects from before the last collection.
 */
#ifndef TH_REPORT_STATISTICS_LIFETIMES_H
#define TH_REPORT_STATISTICS_LIFETIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/log/recording.h"
#include "report/statistics/calibration.h"

/* An end that has not come, and one that could not be observed. */
#define TH_END_NEVER UINT64_MAX
#define TH_END_UNKNOWN 0

/* A collection: which objects it could find dead, and when that was known. */
struct th_judgement {
	uint64_t time;      /* the collection's end; first: they are sorted by it */
	uint64_t births;    /* objects allocated before this time were judged; 0 = none */
	bool is_major;      /* old objects were judged too */
	bool is_whole;      /* objects born before were judged, whatever their generation */
	bool is_collection; /* false: only the deaths found by earlier collections (JAVA_JUDGED) */
};

/*
 * A point in time, and the `level` of the table of live Java objects at it. Deaths and judgements
 * are logged up to some time after the collection that found them: those logged before `known`,
 * the end of the next collection, were found by collections up to `time`.
 */
struct th_moment {
	uint64_t time;
	/*
	 * Collections up to here count: `time`, or the end of the full collection at exit, before which
	 * everything else is judged (teardown.h).
	 */
	uint64_t collections;
	uint32_t level;
	uint64_t
		known; /* UINT64_MAX: there was no later one; time + 1: there was no earlier one */
};

struct th_lifetimes {
	const struct th_recording *recording;
	uint64_t *ends[TH_HEAPS]; /* by index of the sample */
	bool *is_collected; /* by index of a native sample: see th_lifetimes_is_collected() */
	uint64_t unknown[TH_HEAPS];  /* samples with an unknown end, thinning excluded */
	double known_part[TH_HEAPS]; /* of the bytes that samples represent */
	/*
	 * If few Java objects are followed: the probability with which each sample represents
	 * others, by index; 0 = not followed. NULL: all are followed.
	 */
	float *followed;
	double followed_part; /* fraction of the older bytes whose samples are followed themselves */
	bool is_unjudged; /* no followed object was judged, although there were some to judge */
	TH_ARRAY(struct th_judgement, judgements); /* by time */
};

/* The recording must outlive the lifetimes. */
void th_lifetimes_init(struct th_lifetimes *lifetimes, const struct th_recording *recording);
void th_lifetimes_deinit(struct th_lifetimes *lifetimes);

/* The state at a time, CLOCK_MONOTONIC nanoseconds. */
struct th_moment th_lifetimes_moment(const struct th_lifetimes *lifetimes, uint64_t time);

/*
 * The time at which most bytes were alive in the heaps of `heaps` (bits 1 << enum th_heap), as far
 * as recorded, of a ring since th_recording.whole_from; `calibrations` by heap. Mapped memory counts
 * only on its own: it holds the blocks of the other heaps.
 */
struct th_moment th_lifetimes_peak(const struct th_lifetimes *lifetimes,
	const struct th_calibration *calibrations, unsigned heaps);

/*
 * The last collection up to `time` that judged objects, old ones too if `major` is set; NULL if
 * there was none.
 */
const struct th_judgement *
th_lifetimes_last(const struct th_lifetimes *lifetimes, uint64_t time, bool major);

/* Java objects allocated before the returned time had been judged by `time`; 0 = none. */
uint64_t th_lifetimes_judged(const struct th_lifetimes *lifetimes, uint64_t time, bool major);

/* Collections that began after `from` and ended by `to`. */
uint32_t
th_lifetimes_collections(const struct th_lifetimes *lifetimes, uint64_t from, uint64_t to);

/*
 * Whether a sample died young: a native block that was freed, or memory that was unmapped, within
 * TH_TEMPORARY_NS, or a Java object that the first collection after its allocation found dead.
 */
#define TH_TEMPORARY_NS 100000000u
bool th_lifetimes_is_temporary(
	const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index);

/* The Java heap in use, as reported by the VM: an upper limit of live bytes. */

/* The first measurement of the heap in use since `time`; NULL if there is none. */
const struct th_decoded_heap_use *
th_heap_use_after(const struct th_recording *recording, uint64_t time);

/*
 * Upper limit of the live bytes of the Java heap at `time`: bytes in use at the last
 * measurement plus bytes allocated since, by `calibration` of that heap; all allocated bytes if
 * there was no measurement.
 */
double th_heap_use_bound(const struct th_recording *recording,
	const struct th_calibration *calibration, uint64_t time);

/*
 * Limits an estimate of bytes to `bound`. If even its lower limit is above, it includes
 * garbage: the lower limit becomes 0, and it is not exact.
 */
struct th_estimate th_heap_use_clamp(const struct th_estimate *estimate, double bound);

/* The probability that the end of a sample of `heap` is known at `moment`. */
static inline double
th_lifetimes_keep(
	const struct th_lifetimes *lifetimes, enum th_heap heap, const struct th_moment *moment)
{
	double part = lifetimes->known_part[heap];

	return heap == TH_HEAP_JAVA ? part / (double)((uint64_t)1 << moment->level) : part;
}

/* Whether it would be known at `moment` that this sample (by index) is alive. */
static inline bool
th_lifetimes_follows(const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index,
	const struct th_moment *moment)
{
	const struct th_sample *sample = &lifetimes->recording->samples[heap].items[index];

	return lifetimes->ends[heap][index] != TH_END_UNKNOWN &&
	       (heap != TH_HEAP_JAVA ||
		       th_live_keeps(th_recording_id(lifetimes->recording, sample->record),
			       moment->level));
}

/*
 * The end of a sample as far as it had come by `moment`: TH_END_NEVER if the block was freed, or
 * the object found dead, only later.
 */
static inline uint64_t
th_lifetimes_end_by(const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index,
	const struct th_moment *moment)
{
	uint64_t end = lifetimes->ends[heap][index];
	bool is_later = heap == TH_HEAP_JAVA ? end >= moment->known : end > moment->time;

	return is_later ? TH_END_NEVER : end;
}

/*
 * Whether a native block was freed because a collection found its Java owner unreachable, not by the
 * program: by a thread that runs Cleaners or finalizers, or right after a full collection that the
 * library requested.
 */
static inline bool
th_lifetimes_is_collected(const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index)
{
	return heap == TH_HEAP_NATIVE && lifetimes->is_collected[index];
}

/* Whether this sample is known to be alive at `moment`. */
static inline bool
th_lifetimes_is_live(const struct th_lifetimes *lifetimes, enum th_heap heap, size_t index,
	const struct th_moment *moment)
{
	return lifetimes->recording->samples[heap].items[index].time <= moment->time &&
	       th_lifetimes_end_by(lifetimes, heap, index, moment) == TH_END_NEVER &&
	       th_lifetimes_follows(lifetimes, heap, index, moment);
}

/*
 * The calibration of a sum of `samples` samples selected by their ends at `moment`. If not all
 * ends are known, samples were thinned once more: the sum is not a share of an exact total, and
 * its interval is computed separately. If few objects are followed, the weights of a site's
 * followed objects determine the thinning; for a site without any the mean is used. The result
 * shares its memory with `calibration`.
 */
static inline struct th_calibration
th_lifetimes_calibration(const struct th_lifetimes *lifetimes,
	const struct th_calibration *calibration, enum th_heap heap,
	const struct th_moment *moment, uint64_t samples)
{
	struct th_calibration result = *calibration;

	result.gap = calibration->live_gap;
	double keep = th_lifetimes_keep(lifetimes, heap, moment);

	if (heap == TH_HEAP_JAVA && lifetimes->followed) {
		result.is_calibrated = false;
		if (!samples)
			keep *= lifetimes->followed_part;
	}
	if (keep < 1) {
		result.is_calibrated = false;
		result.gap = th_calibration_thinned_gap(&result, keep);
	}
	return result;
}

/* Adds the sample with that index to a sum about ends as known at `moment`. */
static inline void
th_lifetimes_add(const struct th_lifetimes *lifetimes, const struct th_calibration *calibration,
	enum th_heap heap, size_t index, const struct th_moment *moment,
	struct th_estimator *sum)
{
	const struct th_sample *sample = &lifetimes->recording->samples[heap].items[index];
	double keep = th_lifetimes_keep(lifetimes, heap, moment);

	if (heap == TH_HEAP_JAVA && lifetimes->followed)
		keep *= (double)lifetimes->followed[index];
	th_sample_add(sum, lifetimes->recording, sample, (double)sample->keep * keep,
		th_calibration_factor(calibration, sample));
}

/* Adds a sample that is live at `moment`, of which only `part` bytes count. */
static inline void
th_lifetimes_add_part(const struct th_lifetimes *lifetimes,
	const struct th_calibration *calibration, enum th_heap heap,
	const struct th_sample *sample, const struct th_moment *moment, double part,
	struct th_estimator *sum)
{
	th_estimator_add_part(sum, part, sample->size,
		th_recording_sample_interval(lifetimes->recording, sample),
		(double)sample->keep * th_lifetimes_keep(lifetimes, heap, moment),
		th_calibration_factor(calibration, sample));
}

#endif
