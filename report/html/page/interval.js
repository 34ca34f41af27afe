/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 95 % confidence intervals of sums of rows, computed as in the tool: see distribution.c,
 * interval.c, estimate.c and calibration.c for derivations and sources.
 */
const SCORE_LIMIT = 1.959963984540054;
const PRECISION = 1e-6; /* of a score, and of a limit relative to its bracket */
const STEPS_MAX = 200;
const MANY = 2000; /* number of hits from which the score has a closed form */
const SMALLEST_BLOCK = 16;
const CERTAIN = 1e-12, ROUNDING = 1e-10, SMALL_PROBABILITY = 1e-9;
const LOW = 0, HIGH = 1;

/* --- distributions ----------------------------------------------------------------------------- */

/*
 * ln(x!) - (x + 1/2) ln x + x - ln sqrt(2 pi), for x > 0; for small x, by recurrence from a
 * larger one.
 */
function stirlingError(x) {
	let above = x, product = 1;
	while (above < 16)
		product *= ++above;
	const y = 1 / (above * above);
	const error = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / above;
	return above === x ? error : error + (above + 0.5) * Math.log(above) - above
		- Math.log(product) - (x + 0.5) * Math.log(x) + x;
}

/* x ln(x/mean) + mean - x. */
function deviance(x, mean) {
	const v = (x - mean) / (x + mean);
	if (Math.abs(v) > 0.1)
		return x * Math.log(x / mean) + mean - x;
	let sum = (x - mean) * v, term = 2 * x * v;
	for (let i = 3; i < 31; i += 2) {
		term *= v * v;
		sum += term / i;
	}
	return sum;
}

/* P(hits = a) of a + b trials. */
function binomialDensity(a, b, p, q) {
	const n = a + b;
	if (n <= 0)
		return 1;
	if (a <= 0)
		return Math.exp(b * (p < q ? Math.log1p(-p) : Math.log(q)));
	if (b <= 0)
		return Math.exp(a * (q < p ? Math.log1p(-q) : Math.log(p)));
	return Math.exp(stirlingError(n) - stirlingError(a) - stirlingError(b)
		- deviance(a, n * p) - deviance(b, n * q)) * Math.sqrt(n / (2 * Math.PI * a * b));
}

const nonzero = (x) => Math.abs(x) < 1e-300 ? 1e-300 : x;

/* a B(a, b) I_x(a, b) / (x^a (1-x)^b). */
function betaFraction(a, b, x) {
	let c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), result = d;
	for (let i = 1; i < 200000; i++) {
		const even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		const odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		d = 1 / nonzero(1 + even * d);
		c = nonzero(1 + even / c);
		result *= c * d;
		d = 1 / nonzero(1 + odd * d);
		c = nonzero(1 + odd / c);
		result *= c * d;
		if (Math.abs(c * d - 1) < 1e-14)
			break;
	}
	return result;
}

/* The confidence that there are at most b misses. */
function misses(a, b, p, q, tie) {
	const density = binomialDensity(a, b, p, q);
	let atLeast = 1;
	if (a > 0 && p * (a + b + 3) < a + 1)
		atLeast = density * q * betaFraction(a, b + 1, p);
	else if (a > 0)
		atLeast = 1 - density * q * a / (b + 1) * betaFraction(b + 1, a, q);
	return atLeast - (1 - tie) * density;
}

const cubic = ([c0, c1, c2, c3], x) => ((c3 * x + c2) * x + c1) * x + c0;

const QUANTILE = {
	central: [[3.3871327179, 50.434271938, 159.29113202, 59.109374720],
		[1, 17.895169469, 78.757757664, 67.187563600]],
	tail: [[1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103],
		[1, 0.73700164250, 0.12021132975, 0]],
	far: [[6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997],
		[1, 0.24197894225, 0.012258202635, 0]],
};

function normalQuantile(level) {
	const ratio = ([above, below], x) => cubic(above, x) / cubic(below, x);
	const central = level - 0.5;
	if (Math.abs(central) <= 0.425)
		return central * ratio(QUANTILE.central, 0.180625 - central * central);
	const r = Math.sqrt(-Math.log(Math.min(level, 1 - level)));
	return Math.sign(central) * (r <= 5 ? ratio(QUANTILE.tail, r - 1.6) : ratio(QUANTILE.far, r - 5));
}

function scoreOfMany(a, b, p, q) {
	const n = a + b;
	const size = Math.sqrt(2 * (deviance(a, n * p) + deviance(b, n * q)));
	const r = n * p < a ? -size : size;
	if (Math.abs(r) < 0.01)
		return r - (q - p) / (6 * Math.sqrt(n * p * q));
	return r + Math.log(Math.log(b * p / (a * q)) * Math.sqrt(a * b / n) / r) / r;
}

function distributionScore(a, b, p, q, tie) {
	if (a > MANY && b > MANY)
		return scoreOfMany(a, b, p, q);
	return normalQuantile(Math.min(Math.max(misses(a, b, p, q, tie), 1e-300), 1 - 2 ** -53));
}

/* --- limits of what was not seen --------------------------------------------------------------- */

const unseenMean = (unseen) => unseen.hits * unseen.weight * unseen.miss;
const unseenError = (unseen) => unseen.weight * Math.sqrt((unseen.hits + 0.5) * unseen.miss);

/* The sum with one more hit of weight `next`; the hit is then removed from the count. */
function withNext(unseen) {
	if (unseen.next <= unseen.weight)
		return unseen;
	const mean = unseenMean(unseen), ratio = unseen.weight / unseen.next;
	const hit = unseen.hit * ratio, miss = unseen.miss + unseen.hit * (1 - ratio);
	const added = unseen.next * miss, sum = mean + added;
	const weight = (mean * unseen.weight + added * unseen.next) / sum;
	const meanMiss = (mean * unseen.miss + added * miss) / sum;
	return {weight, hits: Math.max(sum / (weight * meanMiss) - 1, 0),
		hit: (mean * unseen.hit + added * hit) / sum, miss: meanMiss, next: weight};
}

/* The score of `value` as a limit on one side. */
function scoreOf(unseen, value, side) {
	const missed = Math.max(value, 0) / (unseen.weight * unseen.hit);
	const tail = 0.5 + 0.5 / (1 + unseen.hits);
	return distributionScore(unseen.hits, missed, unseen.hit, unseen.miss,
		side === LOW ? tail : 1 - tail);
}

function scoreAt(test, value, side) {
	const score = test.shareWeight * scoreOf(test.share, value, side);
	return test.rest ? score - test.restWeight
		* scoreOf(test.rest, test.total - value, side === LOW ? HIGH : LOW) : score;
}

/* Where the score crosses the limit between `low` and `high`: regula falsi, Illinois variant. */
function findLimit(test, side, low, high) {
	const target = side === LOW ? -SCORE_LIMIT : SCORE_LIMIT;
	const precision = PRECISION * (high - low);
	let atLow = scoreAt(test, low, side) - target, atHigh = scoreAt(test, high, side) - target;
	for (let i = 0, moved = 0; i < STEPS_MAX && high - low > precision; i++) {
		const middle = low + (high - low) * atLow / (atLow - atHigh);
		const value = scoreAt(test, middle, side) - target;
		if (Math.abs(value) < PRECISION)
			return middle;
		if (value < 0) {
			atHigh = moved < 0 ? atHigh / 2 : atHigh;
			[low, atLow, moved] = [middle, value, -1];
		} else {
			atLow = moved > 0 ? atLow / 2 : atLow;
			[high, atHigh, moved] = [middle, value, 1];
		}
	}
	return (low + high) / 2;
}

function lowLimit(test, mean) {
	if (mean <= 0 || scoreAt(test, 0, LOW) >= -SCORE_LIMIT)
		return 0;
	return scoreAt(test, mean, LOW) < -SCORE_LIMIT ? mean : findLimit(test, LOW, 0, mean);
}

function highLimit(test, mean) {
	let low = mean, step = 2 * unseenError(test.share), high = Math.min(low + step, test.total);
	if (scoreAt(test, low, HIGH) >= SCORE_LIMIT)
		return low;
	while (scoreAt(test, high, HIGH) < SCORE_LIMIT) {
		if (high >= test.total)
			return high;
		low = high;
		step *= 2;
		high = Math.min(low + step, test.total);
	}
	return findLimit(test, HIGH, low, high);
}

/* A test from the hits alone, or of a share of a known total, of which `rest` is the remainder. */
function testOf(share, rest, mean) {
	const test = {share, rest, total: Infinity, shareWeight: 1};
	if (rest) {
		test.total = mean.share + mean.rest;
		const ratio = test.total > 0 ? mean.share / test.total : 0;
		const shareError = (1 - ratio) * unseenError(share), restError = ratio * unseenError(rest);
		const error = Math.hypot(shareError, restError);
		test.shareWeight = shareError / error;
		test.restWeight = restError / error;
	}
	return test;
}

/* The next hit may belong to the share for the high limit, to the rest for the low one. */
function unseenLimits(share, rest) {
	const mean = {share: unseenMean(share), rest: rest && unseenMean(rest)};
	return {low: lowLimit(testOf(share, rest && withNext(rest), mean), mean.share),
		high: highLimit(testOf(withNext(share), rest, mean), mean.share)};
}

/* --- sums, as struct th_estimator --------------------------------------------------------------- */

const emptyValues = () => ({seen: 0, unseen: 0, variance: 0, doubt: 0});
const emptySum = () => ({samples: 0, covariance: 0, bytes: emptyValues(), objects: emptyValues()});

function addValues(to, from, at) {
	to.seen += from.seen[at];
	to.unseen += from.unseen[at];
	to.variance += from.variance[at];
	to.doubt += from.doubt[at];
}

/* Adds a sum of the data, by its number. */
function addSum(to, number) {
	if (!number)
		return;
	const {sums} = data, at = number - 1;
	to.samples += sums.samples[at];
	to.covariance += sums.covariance[at];
	addValues(to.bytes, sums.bytes, at);
	addValues(to.objects, sums.objects, at);
}

/* Tiny differences of nearly equal values are rounding errors without samples. */
function valuesWithout(all, part) {
	const left = {seen: Math.max(all.seen - part.seen, 0), unseen: all.unseen - part.unseen,
		variance: all.variance - part.variance, doubt: all.doubt - part.doubt};
	if (left.doubt <= ROUNDING * all.unseen || left.variance <= ROUNDING * all.variance
		|| left.unseen - left.doubt <= 0)
		left.unseen = left.variance = left.doubt = 0;
	return left;
}

function sumWithout(all, part) {
	if (part.samples >= all.samples)
		return emptySum();
	return {samples: all.samples - part.samples,
		covariance: Math.max(all.covariance - part.covariance, 0),
		bytes: valuesWithout(all.bytes, part.bytes),
		objects: valuesWithout(all.objects, part.objects)};
}

const knownWholes = [];

/* The whole that sums of a heap are shares of. */
function wholeOf(heap) {
	if (!knownWholes[heap]) {
		const whole = structuredClone(data.heaps[heap].outside);
		for (let row = 0; row < data.rows.count; row++)
			if (data.rows.heap[row] === heap)
				addSum(whole, data.rows.alloc[row]);
		knownWholes[heap] = whole;
	}
	return knownWholes[heap];
}

/* --- estimates ----------------------------------------------------------------------------------- */

function unseenOf({unseen, variance, doubt}, gap) {
	if (!(doubt > CERTAIN * unseen))
		return {weight: gap, hits: 0, hit: SMALL_PROBABILITY, miss: 1 - SMALL_PROBABILITY,
			next: gap};
	const weight = variance / unseen;
	const miss = Math.min(doubt / unseen, 1 - SMALL_PROBABILITY);
	return {weight, hits: unseen / (weight * miss),
		hit: Math.max((unseen - doubt) / unseen, SMALL_PROBABILITY), miss, next: gap};
}

/* The estimate with its unseen part clamped to the limits. */
function estimateWithin({seen, unseen}, {low, high}) {
	return {estimate: seen + unseen, low: seen + Math.min(Math.max(low, 0), unseen),
		high: seen + Math.max(high, unseen)};
}

const exactEstimate = ({seen}) => ({estimate: seen, low: seen, high: seen});

const estimateAlone = (values, gap) => estimateWithin(values, unseenLimits(unseenOf(values, gap)));

function estimateShare(sum, whole, gap) {
	const rest = sumWithout(whole, sum);
	return estimateWithin(sum.bytes, unseenLimits(unseenOf(sum.bytes, gap),
		unseenOf(rest.bytes, gap)));
}

/* `whole` is null if the sum is not a share of it. */
function estimateBytes(sum, whole, gap) {
	if (gap <= 0)
		return exactEstimate(sum.bytes);
	return whole && whole.bytes.unseen > 0 ? estimateShare(sum, whole, gap)
		: estimateAlone(sum.bytes, gap);
}

/* Bytes of the share times objects per byte. */
function objectsOfShare({objects, bytes, covariance}, alone, share) {
	const perByte = objects.unseen / bytes.unseen;
	const spread = objects.variance - 2 * perByte * covariance + perByte ** 2 * bytes.variance;
	const ratio = Math.sqrt(Math.min(Math.max(spread / objects.variance, 0), 1));
	const below = Math.hypot(perByte * (share.estimate - share.low),
		ratio * (alone.estimate - alone.low));
	const above = Math.hypot(perByte * (share.high - share.estimate),
		ratio * (alone.high - alone.estimate));
	return estimateWithin(objects, {low: objects.unseen - below, high: objects.unseen + above});
}

function estimateObjects(sum, whole, gap) {
	if (gap <= 0)
		return exactEstimate(sum.objects);
	const size = sum.samples ? Math.max(sum.bytes.seen / sum.samples, 1) : SMALLEST_BLOCK;
	const alone = estimateAlone(sum.objects, gap / size);
	if (!whole || !(whole.bytes.unseen > 0))
		return alone;
	const share = estimateShare(sum, whole, gap);
	if (sum.bytes.unseen > 0 && sum.objects.variance > 0)
		return objectsOfShare(sum, alone, share);
	return estimateWithin(sum.objects, {low: 0, high: (share.high - share.low) / size});
}

/* Widens an estimate by a relative error beyond sampling. */
function widenEstimate(estimate, relative) {
	const error = relative * Math.abs(estimate.estimate);
	const low = estimate.estimate - Math.hypot(estimate.estimate - estimate.low, error);
	return {estimate: estimate.estimate,
		low: estimate.low >= 0 ? Math.max(low, 0) : low,
		high: estimate.estimate + Math.hypot(estimate.high - estimate.estimate, error)};
}

/* The estimate, in bytes or objects, of a sum of a heap's rows for a figure; 0 without samples. */
function estimateSum(sum, heap, figure, unit) {
	const known = data.heaps[heap];
	if (!sum.samples)
		return {estimate: 0, low: 0, high: 0};
	const {share: isShare, gap} = known.figures[figure];
	const whole = isShare ? wholeOf(heap) : null;
	let estimate = unit === "bytes" ? estimateBytes(sum, whole, gap)
		: estimateObjects(sum, whole, gap);
	if (known.total_error > 0 && gap > 0)
		estimate = widenEstimate(estimate, known.total_error);
	if (unit === "bytes" && known.exact)
		for (const name of ["estimate", "low", "high"])
			estimate[name] = Math.min(estimate[name], known.bytes.estimate);
	return estimate;
}

/* The point estimate of a sum of the data, by its number. */
function pointOf(number, heap, unit) {
	const at = number - 1, {sums} = data;
	if (!number)
		return 0;
	const value = sums[unit].seen[at] + sums[unit].unseen[at];
	return unit === "bytes" && data.heaps[heap].exact
		? Math.min(value, data.heaps[heap].bytes.estimate) : value;
}
