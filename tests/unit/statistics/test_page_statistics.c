/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page computes the same intervals as the tool: random inputs are passed to the C code and,
 * under node, to the page's JavaScript.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/statistics/calibration.h"
#include "report/statistics/distribution.h"
#include "report/statistics/estimate.h"

#define DRIVER TH_TEST_SOURCE "/tests/unit/statistics/page_statistics.js"
#define SCRIPT TH_TEST_SOURCE "/report/html/page/interval.js"

#define CASES 4000
#define VALUES_MAX 6

/* Rounding of some thousand operations whose errors do not grow. */
#define ROUNDING 1e-9
/*
 * Both search for limits until the score is known to 1e-6, or the limit to 1e-6 of its bracket:
 * if rounding ends one search a step before the other, they differ by that fraction of the
 * width.
 */
#define SEARCH 2e-6

/* Results of the C code. */
struct expected {
	double values[VALUES_MAX];
	double widths[VALUES_MAX]; /* width of the interval of a limit; 0: not a limit */
	int count;
};

static struct expected expected[CASES];
static uint64_t state_of_draw;

static uint64_t
draw(uint64_t below)
{
	state_of_draw = state_of_draw * 6364136223846793005u + 1442695040888963407u;
	return (state_of_draw >> 33) % below;
}

/* In (0, 1). */
static double
draw_part(void)
{
	return ((double)draw(1u << 30) + 0.5) / (1u << 30);
}

/* Log-uniform. */
static double
draw_between(double low, double high)
{
	return low * pow(high / low, draw_part());
}

/* Sums */

/* Up to 40 samples of some sizes, doubled up to 16 times: from none to some millions. */
static struct th_estimator
draw_sum(uint64_t least)
{
	struct th_estimator sum = {0};
	uint64_t interval = (uint64_t)draw_between(1 << 10, 1 << 24);
	double largest = draw_between(16, 1 << 28);
	double factor = draw(2) ? 1 : draw_between(0.3, 3);
	uint64_t count = least + draw(draw(2) ? 4 : 40);

	for (uint64_t i = 0; i < count; i++)
		th_estimator_add(&sum, (uint64_t)draw_between(8, largest), interval,
			draw(2) ? 1 : draw_between(1e-3, 1), factor);
	for (uint64_t doubled = draw(3) ? 0 : draw(17); doubled; doubled--)
		th_estimator_merge(&sum, &sum);
	return sum;
}

/* In the format of page_rows.c. */
static void
write_sums(FILE *file, const struct th_sums *sums)
{
	fprintf(file, " %.17g %.17g %.17g %.17g", sums->seen, sums->unseen, sums->variance,
		sums->unseen - sums->missed);
}

static void
write_sum(FILE *file, const struct th_estimator *sum)
{
	fprintf(file, " %" PRIu64 " %.17g", sum->samples, sum->covariance);
	write_sums(file, &sum->bytes);
	write_sums(file, &sum->objects);
}

static void
want(struct expected *to, double value)
{
	to->values[to->count++] = value;
}

static void
want_estimate(struct expected *to, struct th_estimate estimate)
{
	double values[] = {estimate.estimate, estimate.low, estimate.high};

	for (int i = 0; i < 3; i++) {
		to->widths[to->count] = i ? estimate.high - estimate.low : 0;
		want(to, values[i]);
	}
}

/* Cases: each writes one for the page, and the result of the C code. */

static void
case_quantile(FILE *file, struct expected *to)
{
	double level = draw(2) ? draw_part() : draw_between(1e-300, 0.5);

	fprintf(file, "quantile %.17g\n", level);
	want(to, th_distribution_normal_quantile(level));
}

/* Of a + b trials with probability p, with b close to its probable value. */
static void
case_distribution(FILE *file, struct expected *to, const char *name,
	double (*function)(double a, double b, double p, double q, double tie))
{
	double p = draw(4) ? draw_between(1e-9, 0.5) : 1 - draw_between(1e-9, 0.5);
	double a = draw(3) ? draw_between(0.1, 1e5) : (double)draw(20);
	double b = (a + 1) * (1 - p) / p;
	double tie = draw_part();

	b = fmax(b + 4 * (draw_part() - 0.5) * sqrt(b + b * b / (a + 1)), 0);
	fprintf(file, "%s %.17g %.17g %.17g %.17g %.17g\n", name, a, b, p, 1 - p, tie);
	want(to, function(a, b, p, 1 - p, tie));
}

static void
case_misses(FILE *file, struct expected *to)
{
	case_distribution(file, to, "misses", th_distribution_misses);
}

static void
case_score(FILE *file, struct expected *to)
{
	case_distribution(file, to, "score", th_distribution_score);
}

/* Independent or part of a whole, of which it may be all; sometimes without any sample. */
static void
case_estimate(FILE *file, struct expected *to)
{
	struct th_estimator part = draw_sum(0);
	struct th_estimator rest = draw_sum(0);
	double gap = draw(10) ? draw_between(1 << 10, 1 << 26) : 0;
	bool is_share = draw(3);
	struct th_estimator whole = part;

	if (draw(10))
		th_estimator_merge(&whole, &rest);
	fprintf(file, "estimate %d %.17g", is_share, gap);
	write_sum(file, &part);
	if (is_share)
		write_sum(file, &whole);
	fputc('\n', file);
	want_estimate(to, th_estimate_bytes(&part, is_share ? &whole : NULL, gap));
	want_estimate(to, th_estimate_objects(&part, is_share ? &whole : NULL, gap));
}

/* A part of a heap with the error of its total. */
static void
case_heap(FILE *file, struct expected *to)
{
	struct th_estimator part = draw_sum(1);
	struct th_estimator rest = draw_sum(0);
	struct th_calibration heap = {
		.is_calibrated = draw(3),
		.whole = part,
		.gap = draw(10) ? draw_between(1 << 10, 1 << 26) : 0,
		.total_error = draw(2) ? 0 : draw_between(1e-6, 0.1),
	};

	if (draw(10))
		th_estimator_merge(&heap.whole, &rest);
	heap.bytes.exact = draw(2);
	heap.bytes.estimate = th_sums_point(&heap.whole.bytes) *
			      (draw(2) ? 1 : draw_between(0.5, 2));
	fprintf(file, "heap %d %.17g %.17g %d %.17g", heap.is_calibrated, heap.gap,
		heap.total_error, heap.bytes.exact, heap.bytes.estimate);
	write_sum(file, &part);
	write_sum(file, &heap.whole);
	fputc('\n', file);
	want_estimate(to, th_calibration_bytes(&heap, &part));
	want_estimate(to, th_calibration_objects(&heap, &part));
}

/* Comparing */

static void
compare(int number, const struct expected *wanted, FILE *answers)
{
	for (int i = 0; i < wanted->count; i++) {
		double value;
		double tolerance = ROUNDING * fabs(wanted->values[i]) +
				   SEARCH * wanted->widths[i];

		assert_int_equal(fscanf(answers, "%lf", &value), 1);
		if (!(fabs(value - wanted->values[i]) <= tolerance))
			fail_msg("case %d, value %d: the page has %.17g, the tool %.17g",
				number, i, value, wanted->values[i]);
	}
}

static void
run_cases(void (*make)(FILE *file, struct expected *to))
{
	char path[] = "/tmp/twinheap-test-XXXXXX";
	char command[2048];
	int descriptor = mkstemp(path);

	if (system("node --version >/dev/null 2>&1")) {
		print_message("node is missing\n");
		skip();
	}
	assert_true(descriptor >= 0);
	FILE *file = fdopen(descriptor, "w");
	state_of_draw = 42;
	for (int i = 0; i < CASES; i++) {
		expected[i].count = 0;
		make(file, &expected[i]);
	}
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command), "node '%s' '%s' '%s'", DRIVER, SCRIPT, path);
	FILE *answers = popen(command, "r");
	assert_non_null(answers);
	for (int i = 0; i < CASES; i++)
		compare(i, &expected[i], answers);
	assert_int_equal(pclose(answers), 0);
	if (!getenv("KEEP"))
		unlink(path);
}

#define KINDS(X)    \
	X(quantile) \
	X(misses)   \
	X(score)    \
	X(estimate) \
	X(heap)

#define DEFINE_TEST(name)                     \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		run_cases(case_##name);       \
	}
KINDS(DEFINE_TEST)

#define LIST_TEST(name) cmocka_unit_test(test_##name),

int
main(void)
{
	const struct CMUnitTest tests[] = {KINDS(LIST_TEST)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
