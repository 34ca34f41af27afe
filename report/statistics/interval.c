/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every hypothesis about an unseen value y has a score: the normal score of the confidence
 * distribution of the missed blocks. Limits are where the score is -1.96 and +1.96.
 *
 * The upper limit of h hits is that of a gamma distribution with shape h + 1: it assumes one
 * hit more than observed. Where hits of different weight were possible, that one has the weight
 * of a time of sparse sampling rather than that of the observed hits, as in Fay and Feuer
 * (Statistics in Medicine 1997), who give it the largest of all weights: light hits alone do
 * not bound what was allocated while few samples were taken.
 *
 * The probability of exactly the observed number of hits counts towards a tail with some
 * weight. With 1 (Clopper and Pearson) the coverage is too high, 97 % for few hits; with 1/2
 * (mid-P) it is 95 % on average, but 91.7 % where three hits are expected. 1/2 + 1/2 / (1 +
 * hits) is as good as mid-P where mid-P is good, and covers any Poisson mean with at least 93.9
 * %.
 *
 * A share of a known total T is tested twice: by its own hits for y, and by the hits of the
 * rest for T - y. The two scores are independent and are added with the weights that the ratio
 * estimator R T gives their errors, R = share / total being the estimated proportion:
 *
 *     (1-R) s_share score_share(y)  -  R s_rest score_rest(T - y)
 *     -----------------------------------------------------------     s = standard deviation
 *              sqrt((1-R)^2 s_share^2 + R^2 s_rest^2)
 *
 * For many samples this is (y - R T) over the standard error of a ratio estimator (Cochran,
 * Sampling Techniques, 1977, chapter 6); for few it keeps the shape of the exact distributions,
 * as combined confidence distributions do (Singh, Xie and Strawderman, Annals of Statistics
 * 2005).
 */
#include "report/statistics/interval.h"

#include <math.h>
#include <stddef.h>

#include "report/statistics/distribution.h"

#define SCORE_LIMIT 1.959963984540054
/* Of a score, and of a limit relative to its bracket: well below the precision of intervals. */
#define PRECISION 1e-6
#define STEPS_MAX 200

enum side { LOW, HIGH };

struct test {
	const struct th_unseen *share;
	const struct th_unseen *rest; /* NULL: the total is not known */
	double total;
	double share_weight; /* of its score; the two weights have unit norm */
	double rest_weight;
};

/* The expected unseen value. */
static double
mean_of(const struct th_unseen *unseen)
{
	return unseen->hits * unseen->weight * unseen->miss;
}

/* Without hits as for half a hit, the middle of the range compatible with none. */
static double
standard_deviation(const struct th_unseen *unseen)
{
	return unseen->weight * sqrt((unseen->hits + 0.5) * unseen->miss);
}

/*
 * The same with one more hit of the weight `next`: it is added to the sums, and then removed
 * from the count, since upper limits assume it anyway.
 */
static struct th_unseen
with_next(const struct th_unseen *unseen)
{
	double mean = mean_of(unseen);
	double hit = unseen->hit * unseen->weight / unseen->next; /* blocks of the same size */
	double miss = unseen->miss + unseen->hit * (1 - unseen->weight / unseen->next);
	double added = unseen->next * miss;
	double sum = mean + added;
	struct th_unseen result = {
		.weight = (mean * unseen->weight + added * unseen->next) / sum,
		.hit = (mean * unseen->hit + added * hit) / sum,
		.miss = (mean * unseen->miss + added * miss) / sum,
	};

	if (unseen->next <= unseen->weight)
		return *unseen;
	result.hits = fmax(sum / (result.weight * result.miss) - 1, 0);
	result.next = result.weight;
	return result;
}

/* The score of `value` as a limit on one side. */
static double
score_of(const struct th_unseen *unseen, double value, enum side side)
{
	double missed = fmax(value, 0) / (unseen->weight * unseen->hit);
	double tail = 0.5 + 0.5 / (1 + unseen->hits);

	return th_distribution_score(
		unseen->hits, missed, unseen->hit, unseen->miss, side == LOW ? tail : 1 - tail);
}

/*
 * The score less that of the limit, -1.96 or 1.96. A lower limit of a share is an upper one of the
 * rest.
 */
static double
score_above_limit(const struct test *test, double value, enum side side)
{
	double score = test->share_weight * score_of(test->share, value, side);

	if (test->rest)
		score -= test->rest_weight *
			 score_of(test->rest, test->total - value, side == LOW ? HIGH : LOW);
	return score - (side == LOW ? -SCORE_LIMIT : SCORE_LIMIT);
}

/*
 * The limit: where score_above_limit(), which rises, crosses 0. It is `at_low` below 0 at `low` and
 * `at_high` above it at `high`.
 */
static double
find_limit(const struct test *test, enum side side, double low, double at_low, double high,
	double at_high)
{
	double precision = PRECISION * (high - low);
	int moved = 0;

	for (int i = 0; i < STEPS_MAX && high - low > precision; i++) {
		double middle = low + (high - low) * at_low / (at_low - at_high);
		double value = score_above_limit(test, middle, side);

		if (fabs(value) < PRECISION)
			return middle;
		/*
		 * Regula falsi, Illinois variant: the function value of an end that stays is
		 * halved.
		 */
		if (value < 0) {
			at_high = moved < 0 ? at_high / 2 : at_high;
			low = middle;
			at_low = value;
			moved = -1;
		} else {
			at_low = moved > 0 ? at_low / 2 : at_low;
			high = middle;
			at_high = value;
			moved = 1;
		}
	}
	return (low + high) / 2;
}

/* Below the mean of the share; the rest of a known total may have had the next hit. */
static double
low_limit(const struct test *test, double mean)
{
	double at_none = mean > 0 ? score_above_limit(test, 0, LOW) : 0;

	if (mean <= 0 || at_none >= 0)
		return 0;
	double at_mean = score_above_limit(test, mean, LOW);
	return at_mean < 0 ? mean : find_limit(test, LOW, 0, at_none, mean, at_mean);
}

static double
high_limit(const struct test *test, double mean)
{
	double low = mean;
	double step = 2 * standard_deviation(test->share);
	double high = fmin(low + step, test->total);
	double at_low = score_above_limit(test, low, HIGH);

	if (at_low >= 0)
		return low;
	double at_high = score_above_limit(test, high, HIGH);
	while (at_high < 0) {
		if (high >= test->total)
			return high;
		low = high;
		at_low = at_high;
		step *= 2;
		high = fmin(low + step, test->total);
		at_high = score_above_limit(test, high, HIGH);
	}
	return find_limit(test, HIGH, low, at_low, high, at_high);
}

struct th_limits
th_interval_alone(const struct th_unseen *unseen)
{
	double mean = mean_of(unseen);
	struct th_unseen next = with_next(unseen);
	struct test low = {.share = unseen, .total = HUGE_VAL, .share_weight = 1};
	struct test high = {.share = &next, .total = HUGE_VAL, .share_weight = 1};

	return (struct th_limits){low_limit(&low, mean), high_limit(&high, mean)};
}

static struct test
share_test(
	const struct th_unseen *share, const struct th_unseen *rest, double mean, double total)
{
	double ratio = total > 0 ? mean / total : 0;
	double share_error = (1 - ratio) * standard_deviation(share);
	double rest_error = ratio * standard_deviation(rest);
	double error = hypot(share_error, rest_error);

	return (struct test){
		.share = share,
		.rest = rest,
		.total = total,
		.share_weight = share_error / error,
		.rest_weight = rest_error / error,
	};
}

struct th_limits
th_interval_share(const struct th_unseen *share, const struct th_unseen *rest)
{
	double mean = mean_of(share);
	double total = mean + mean_of(rest);
	struct th_unseen share_next = with_next(share);
	struct th_unseen rest_next = with_next(rest);
	struct test low = share_test(share, &rest_next, mean, total);
	struct test high = share_test(&share_next, rest, mean, total);

	return (struct th_limits){low_limit(&low, mean), high_limit(&high, mean)};
}
