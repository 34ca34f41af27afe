/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Horvitz-Thompson sums, and intervals for them.
 *
 * For an interval, the unseen part is described as if it came from blocks of one size: the
 * weight of a hit is variance / unseen (which is s/p), the probability of a hit is missed /
 * unseen, and the number of hits follows. For blocks of one size this is exact; for mixtures it
 * matches mean and variance, as the gamma intervals of Fay and Feuer (Statistics in Medicine
 * 1997) do.
 */
#include "report/statistics/estimate.h"

#include <math.h>
#include <stddef.h>

#include "report/statistics/interval.h"

/* Assumed minimum size of unseen blocks: a Java object's header. */
#define SMALLEST_BLOCK 16.0
/* Blocks with a lower probability of a miss are certain to be hit. */
#define CERTAIN 1e-12
/* Relative size of a difference that is only rounding. */
#define ROUNDING 1e-10
/* Hit probability for blocks so small that its value does not matter. */
#define SMALL_PROBABILITY 1e-9

/* The probability that a block contains a sampled byte, and that it does not. */
struct hit {
	double hit;
	double passed;
};

static void
sums_add(struct th_sums *sums, double value, double probability, double miss, double factor)
{
	double unseen = factor * value * miss / probability;

	sums->seen += value;
	sums->unseen += unseen;
	sums->variance += unseen * factor * value / probability;
	sums->missed += factor * value * miss;
}

void
th_estimator_add(struct th_estimator *estimator, uint64_t size, uint64_t interval, double keep,
	double factor)
{
	th_estimator_add_part(estimator, (double)size, size, interval, keep, factor);
}

/*
 * 1 - exp(-ratio) and exp(-ratio), both with full precision: the smaller of the two is
 * computed, and the other follows from it. The second is negative here.
 */
static double
smaller_of(uint64_t size, uint64_t interval)
{
	double ratio = (double)size / (double)interval;

	return ratio < 0.5 ? -expm1(-ratio) : -exp(-ratio);
}

/* A block of no bytes cannot be sampled, unless all are; a sampled one counts as 1 byte. */
static struct hit
hit_of(uint64_t size, uint64_t interval)
{
	double smaller;

	if (!interval)
		return (struct hit){1, 0};
	smaller = smaller_of(size + !size, interval);
	if (smaller > 0)
		return (struct hit){smaller, 1 - smaller};
	return (struct hit){1 + smaller, -smaller};
}

void
th_estimator_add_part(struct th_estimator *estimator, double part, uint64_t size,
	uint64_t interval, double keep, double factor)
{
	struct hit block = hit_of(size, interval);
	double kept = keep > 0 && keep < 1 ? keep : 1;
	double probability = kept * block.hit;
	double miss = (1 - kept) + kept * block.passed;

	estimator->samples++;
	sums_add(&estimator->bytes, part, probability, miss, factor);
	sums_add(&estimator->objects, 1, probability, miss, factor);
	estimator->covariance += factor * factor * part * miss / (probability * probability);
}

void
th_mean_interval_add(struct th_mean_interval *gaps, uint64_t size, uint64_t interval,
	double keep, double unseen)
{
	double block = size ? (double)size : 1;
	double distance = interval ? (double)interval : block;
	double gap = distance / unseen;
	/* The bytes that it represents, s/p, within a factor of 1.6. */
	double bytes = (block > distance ? block : distance) / keep;

	if (interval == 0 && keep == 1)
		return;
	gaps->bytes += bytes;
	gaps->squares += bytes * gap * gap;
}

double
th_mean_interval_thin(const struct th_mean_interval *gaps)
{
	return gaps->bytes > 0 ? sqrt(gaps->squares / gaps->bytes) : 0;
}

void
th_sums_merge(struct th_sums *sums, const struct th_sums *other)
{
	sums->seen += other->seen;
	sums->unseen += other->unseen;
	sums->variance += other->variance;
	sums->missed += other->missed;
}

void
th_estimator_merge(struct th_estimator *estimator, const struct th_estimator *other)
{
	estimator->samples += other->samples;
	th_sums_merge(&estimator->bytes, &other->bytes);
	th_sums_merge(&estimator->objects, &other->objects);
	estimator->covariance += other->covariance;
}

/* The rest of two nearly equal sums is rounding, without a sample behind it. */
static void
sums_subtract(struct th_sums *sums, const struct th_sums *part)
{
	struct th_sums left = {
		.seen = fmax(sums->seen - part->seen, 0),
		.unseen = sums->unseen - part->unseen,
		.variance = sums->variance - part->variance,
		.missed = sums->missed - part->missed,
	};

	/* The difference of unseen and missed is as exact as its operands. */
	if (left.unseen - left.missed <= ROUNDING * sums->unseen ||
		left.variance <= ROUNDING * sums->variance || left.missed <= 0)
		left.unseen = left.variance = left.missed = 0;
	*sums = left;
}

void
th_estimator_subtract(struct th_estimator *estimator, const struct th_estimator *part)
{
	if (part->samples >= estimator->samples) {
		*estimator = (struct th_estimator){0};
		return;
	}
	estimator->samples -= part->samples;
	sums_subtract(&estimator->bytes, &part->bytes);
	sums_subtract(&estimator->objects, &part->objects);
	estimator->covariance = fmax(estimator->covariance - part->covariance, 0);
}

/*
 * Without samples: small blocks, of which one hit represents `gap`. The same if every block
 * seen was certain to be: exp(-y/N), the probability that y unseen bytes stay unseen, does not
 * depend on the sizes of the blocks.
 */
static struct th_unseen
unseen_of(const struct th_sums *sums, double gap)
{
	struct th_unseen unseen = {.weight = gap,
		.hit = SMALL_PROBABILITY,
		.miss = 1 - SMALL_PROBABILITY,
		.next = gap};

	if (sums->unseen - sums->missed > CERTAIN * sums->unseen) {
		unseen.weight = sums->variance / sums->unseen;
		unseen.hit = fmax(sums->missed / sums->unseen, SMALL_PROBABILITY);
		unseen.miss = fmin((sums->unseen - sums->missed) / sums->unseen, unseen.miss);
		unseen.hits = sums->unseen / (unseen.weight * unseen.miss);
	}
	return unseen;
}

struct th_estimate
th_estimate_exact(double value, uint64_t samples)
{
	return (struct th_estimate){.estimate = value,
		.low = value,
		.high = value,
		.samples = samples,
		.exact = true};
}

/* An estimate whose unseen part lies within `limits`. */
static struct th_estimate
estimate_of(const struct th_sums *sums, struct th_limits limits, uint64_t samples)
{
	return (struct th_estimate){
		.estimate = sums->seen + sums->unseen,
		.low = sums->seen + fmin(fmax(limits.low, 0), sums->unseen),
		.high = sums->seen + fmax(limits.high, sums->unseen),
		.samples = samples,
	};
}

static struct th_estimate
estimate_alone(const struct th_sums *sums, double gap, uint64_t samples)
{
	struct th_unseen unseen = unseen_of(sums, gap);

	return estimate_of(sums, th_interval_alone(&unseen), samples);
}

static struct th_estimate
estimate_share(
	const struct th_estimator *estimator, const struct th_estimator *whole, double gap)
{
	struct th_estimator other = *whole;
	struct th_unseen share = unseen_of(&estimator->bytes, gap);
	struct th_unseen rest;

	th_estimator_subtract(&other, estimator);
	rest = unseen_of(&other.bytes, gap);
	return estimate_of(
		&estimator->bytes, th_interval_share(&share, &rest), estimator->samples);
}

struct th_estimate
th_estimate_bytes(
	const struct th_estimator *estimator, const struct th_estimator *whole, double gap)
{
	if (gap <= 0)
		return th_estimate_exact(estimator->bytes.seen, estimator->samples);
	if (!whole || whole->bytes.unseen <= 0)
		return estimate_alone(&estimator->bytes, gap, estimator->samples);
	return estimate_share(estimator, whole, gap);
}

/*
 * Objects of a share: its bytes times objects per byte. The first has the interval of the
 * share; the second varies with the sizes alone, `spread` being its part of the variance, and
 * is independent of the first for small blocks. The two are combined by MOVER.
 */
static struct th_estimate
objects_of_share(const struct th_estimator *estimator, const struct th_estimate *alone,
	const struct th_estimate *bytes)
{
	const struct th_sums *objects = &estimator->objects;
	double per_byte = objects->unseen / estimator->bytes.unseen;
	double spread = objects->variance - 2 * per_byte * estimator->covariance +
			per_byte * per_byte * estimator->bytes.variance;
	double ratio = sqrt(fmin(fmax(spread / objects->variance, 0), 1));
	double below = hypot(per_byte * (bytes->estimate - bytes->low),
		ratio * (alone->estimate - alone->low));
	double above = hypot(per_byte * (bytes->high - bytes->estimate),
		ratio * (alone->high - alone->estimate));

	return estimate_of(objects,
		(struct th_limits){objects->unseen - below, objects->unseen + above},
		estimator->samples);
}

/* Unseen blocks are assumed to be like the seen ones. */
static double
typical_size(const struct th_estimator *estimator)
{
	if (estimator->samples == 0)
		return SMALLEST_BLOCK;
	return fmax(estimator->bytes.seen / (double)estimator->samples, 1);
}

struct th_estimate
th_estimate_objects(
	const struct th_estimator *estimator, const struct th_estimator *whole, double gap)
{
	const struct th_sums *objects = &estimator->objects;
	double size = typical_size(estimator);
	struct th_estimate alone, bytes;

	if (gap <= 0)
		return th_estimate_exact(objects->seen, estimator->samples);
	alone = estimate_alone(objects, gap / size, estimator->samples);
	if (!whole || whole->bytes.unseen <= 0)
		return alone;
	bytes = estimate_share(estimator, whole, gap);
	if (estimator->bytes.unseen > 0 && objects->variance > 0)
		return objects_of_share(estimator, &alone, &bytes);
	return estimate_of(objects, (struct th_limits){0, (bytes.high - bytes.low) / size},
		estimator->samples);
}

struct th_estimate
th_estimate_sum(const struct th_estimate *a, const struct th_estimate *b)
{
	double estimate = a->estimate + b->estimate;

	return (struct th_estimate){
		.estimate = estimate,
		.low = estimate - hypot(a->estimate - a->low, b->estimate - b->low),
		.high = estimate + hypot(a->high - a->estimate, b->high - b->estimate),
		.samples = a->samples + b->samples,
		.exact = a->exact && b->exact,
	};
}

struct th_estimate
th_estimate_difference(const struct th_estimate *a, const struct th_estimate *b)
{
	struct th_estimate less = *b;

	less.estimate = -b->estimate;
	less.low = -b->high;
	less.high = -b->low;
	return th_estimate_sum(a, &less);
}

struct th_estimate
th_estimate_scale(struct th_estimate estimate, double factor)
{
	estimate.estimate *= factor;
	estimate.low *= factor;
	estimate.high *= factor;
	return estimate;
}

struct th_estimate
th_estimate_widen(const struct th_estimate *estimate, double relative)
{
	struct th_estimate result = *estimate;
	double error = relative * fabs(estimate->estimate);

	result.low = estimate->estimate - hypot(estimate->estimate - estimate->low, error);
	if (estimate->low >= 0)
		result.low = fmax(result.low, 0);
	result.high = estimate->estimate + hypot(estimate->high - estimate->estimate, error);
	result.exact = estimate->exact && error == 0;
	return result;
}

struct th_number
th_estimate_interval(const struct th_estimate *estimate, enum th_unit unit)
{
	return estimate->exact ? (struct th_number){"exact"}
			       : th_format_interval(estimate->low, estimate->high, unit);
}
