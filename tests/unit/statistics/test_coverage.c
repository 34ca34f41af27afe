/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage of the 95 % intervals. Programs whose every byte is known run the real sampler block
 * by block; the reported intervals of their sites are compared with the true allocations.
 *
 *     test_coverage             a few hundred programs, with the bounds below
 *     test_coverage PROGRAMS    this many programs; docs/statistics.md shows 4000
 *
 * prints the tables too. Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/sample/probability.h"
#include "tests/unit/statistics/simulated_heap.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define INTERVAL (512 * KIB)
#define PROGRAMS 220
#define ALL_SITES SIMULATED_SITES_MAX
#define ALL_THREADS SIMULATED_THREADS_MAX

static int programs = PROGRAMS;

/* Class of a site by its number of samples. */
enum sample_class { NO_SAMPLE, FEW_SAMPLES, MANY_SAMPLES, SAMPLE_CLASSES };

#define MANY 20

struct tally {
	int sites;
	int below; /* truth below the interval */
	int above;
	double width; /* of the interval in units of the truth, summed */
};

static enum sample_class
class_of(const struct th_estimate *estimate)
{
	if (estimate->samples == 0)
		return NO_SAMPLE;
	return estimate->samples < MANY ? FEW_SAMPLES : MANY_SAMPLES;
}

/*
 * Takes a minute under an emulator, and with fewer programs the bounds below do not apply:
 * there the formulas are checked by test_estimate.c and similar tests.
 */
static void
skip_under_an_emulator(void)
{
	if (getenv("TH_TEST_RUNNER"))
		skip();
}

static void
count(struct tally tallies[SAMPLE_CLASSES], const struct th_estimate *estimate, double truth)
{
	struct tally *tally = &tallies[class_of(estimate)];
	double rounding = 1e-9 * truth;

	assert_true(estimate->low <= estimate->estimate);
	assert_true(estimate->estimate <= estimate->high);
	tally->sites++;
	tally->below += truth < estimate->low - rounding;
	tally->above += truth > estimate->high + rounding;
	tally->width += (estimate->high - estimate->low) / truth;
}

static struct tally
tally_sum(const struct tally *a, const struct tally *b)
{
	return (struct tally){a->sites + b->sites, a->below + b->below, a->above + b->above,
		a->width + b->width};
}

static double
coverage(const struct tally *tally)
{
	return 1 - (double)(tally->below + tally->above) / tally->sites;
}

static void
print_cell(const struct tally *tally)
{
	if (tally->sites == 0)
		printf(" %27s |", "");
	else
		printf(" %5.1f (%4.1f %4.1f) %7d x%4.2f |", 100 * coverage(tally),
			100.0 * tally->below / tally->sites,
			100.0 * tally->above / tally->sites, tally->sites,
			tally->width / tally->sites);
}

static void
print_row(const char *name, const struct tally tallies[SAMPLE_CLASSES])
{
	printf("| %9s |", name);
	for (int i = 0; i < SAMPLE_CLASSES; i++)
		print_cell(&tallies[i]);
	printf("\n");
}

static void
print_heading(const char *title)
{
	printf("\n%s: %% of intervals that hold the truth (truth below, above), sites, mean "
	       "width\n",
		title);
	printf("| %9s | %27s | %27s | %27s |\n", "bytes", "no sample", "1-19 samples",
		"20 samples or more");
}

/*
 * The documented coverage: 93-97 % with 20 samples or more, at least 93 % with fewer, over all
 * sizes together. For one size the truth is an integer number of blocks, which makes 95 %
 * impossible for large ones; `slack` is how far a size may be below.
 */
static void
assert_promise(const struct tally tallies[SAMPLE_CLASSES])
{
	struct tally fewer = tally_sum(&tallies[NO_SAMPLE], &tallies[FEW_SAMPLES]);

	assert_true(tallies[MANY_SAMPLES].sites >= 400 && fewer.sites >= 400);
	assert_true(coverage(&tallies[MANY_SAMPLES]) >= 0.93);
	assert_true(coverage(&tallies[MANY_SAMPLES]) <= 0.97);
	assert_true(coverage(&fewer) >= 0.93);
}

/* 95 % minus four standard deviations of this number of Bernoulli trials, minus `slack`. */
static void
assert_not_below_95(const struct tally *tally, double slack)
{
	double error = sqrt(0.95 * 0.05 / tally->sites);

	assert_true(tally->sites > 0);
	assert_true(coverage(tally) >= 0.95 - 4 * error - slack);
}

/* Programs that allocate at eight sites in turn */

static const uint64_t sizes[] = {16, 64, 200, 4 * KIB, 64 * KIB, 512 * KIB, MIB, 4 * MIB};
static const char *const size_names[] = {
	"16", "64", "200", "4 Ki", "64 Ki", "512 Ki", "1 Mi", "4 Mi"};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct program_tallies {
	struct tally site[SIZES][SAMPLE_CLASSES];
	struct tally all[SAMPLE_CLASSES];
};

static void
count_site(struct program_tallies *tallies, size_t site, const struct th_estimate *estimate,
	double truth)
{
	count(tallies->site[site], estimate, truth);
	count(tallies->all, estimate, truth);
}

static void
print_program_tallies(const char *title, const struct program_tallies *tallies)
{
	print_heading(title);
	for (size_t i = 0; i < SIZES; i++)
		print_row(size_names[i], tallies->site[i]);
	print_row("all", tallies->all);
}

/* exp(uniform): every order of magnitude between the two is equally likely. */
static double
log_uniform(struct th_random *random, double low, double high)
{
	return low * exp(log(high / low) * th_random_unit(random));
}

/*
 * Each site allocates enough blocks for 0.3 to 150 expected samples. All sites take turns on
 * `threads` threads; in three of four turns a site uses its own thread.
 */
static void
run_program(struct simulated_heap *heap, struct th_random *random, unsigned threads)
{
	enum { TURNS = 64 };
	uint64_t left[SIZES];

	for (size_t i = 0; i < SIZES; i++) {
		double p = sampling_probability(sizes[i], INTERVAL);

		left[i] = (uint64_t)ceil(log_uniform(random, 0.3, 150) / p);
	}
	for (uint64_t turn = TURNS; turn > 0; turn--)
		for (unsigned i = 0; i < SIZES; i++) {
			uint64_t blocks = left[i] / turn;
			unsigned thread = turn % 4 == 0 ? (unsigned)turn / 4 : i;

			left[i] -= blocks;
			while (blocks-- > 0)
				simulated_allocate(heap, thread % threads, i, sizes[i]);
		}
}

/* The factors of exact_factor() for each thread, or for all of them as one group. */
static void
find_factors(const struct simulated_heap *heap, bool each_thread, double *factors)
{
	struct th_estimator all = simulated_sum(heap, ALL_SITES, ALL_THREADS, NULL);

	for (unsigned i = 0; i < ALL_THREADS; i++) {
		struct th_estimator one = simulated_sum(heap, ALL_SITES, i, NULL);

		factors[i] = each_thread ? exact_factor(&one, (double)heap->threads[i].bytes)
					 : exact_factor(&all, simulated_bytes(heap));
	}
}

static void
count_calibrated(struct program_tallies *tallies, struct program_tallies *objects,
	const struct simulated_heap *heap, bool each_thread)
{
	double factors[ALL_THREADS];
	struct th_estimator whole;

	find_factors(heap, each_thread, factors);
	whole = simulated_sum(heap, ALL_SITES, ALL_THREADS, factors);
	for (unsigned i = 0; i < SIZES; i++) {
		struct th_estimator sum = simulated_sum(heap, i, ALL_THREADS, factors);
		struct th_estimate estimate = th_estimate_bytes(
			&sum, &whole, simulated_gap(heap));

		count_site(tallies, i, &estimate, (double)heap->sites[i].bytes);
		estimate = th_estimate_objects(&sum, &whole, simulated_gap(heap));
		if (objects && sum.samples > 0)
			count_site(objects, i, &estimate, (double)heap->sites[i].objects);
	}
}

static void
count_alone(struct program_tallies *tallies, struct program_tallies *objects,
	const struct simulated_heap *heap)
{
	for (unsigned i = 0; i < SIZES; i++) {
		struct th_estimator sum = simulated_sum(heap, i, ALL_THREADS, NULL);
		struct th_estimate estimate = th_estimate_bytes(
			&sum, NULL, simulated_gap(heap));

		count_site(tallies, i, &estimate, (double)heap->sites[i].bytes);
		estimate = th_estimate_objects(&sum, NULL, simulated_gap(heap));
		if (sum.samples > 0)
			count_site(objects, i, &estimate, (double)heap->sites[i].objects);
	}
}

static void
assert_program_promise(const struct program_tallies *tallies)
{
	assert_promise(tallies->all);
	for (size_t i = 0; i < SIZES; i++) {
		/* Blocks of 2 N and more: few possible integers. */
		assert_not_below_95(&tallies->site[i][MANY_SAMPLES], 0.01);
		assert_not_below_95(&tallies->site[i][FEW_SAMPLES], 0.01);
	}
}

static void
test_sites_of_one_thread(void **state)
{
	static struct program_tallies alone, share, alone_objects, share_objects;
	struct th_random random;

	(void)state;
	skip_under_an_emulator();
	th_random_seed(&random, 1);
	for (int i = 0; i < programs; i++) {
		struct simulated_heap heap;

		simulated_heap_init(&heap, (uint64_t)i, INTERVAL);
		run_program(&heap, &random, 1);
		count_alone(&alone, &alone_objects, &heap);
		count_calibrated(&share, &share_objects, &heap, false);
		simulated_heap_deinit(&heap);
	}
	print_program_tallies("Bytes, total not known", &alone);
	print_program_tallies("Bytes, share of a known total", &share);
	print_program_tallies("Objects, total not known", &alone_objects);
	print_program_tallies("Objects, share of a known total", &share_objects);
	assert_program_promise(&alone);
	assert_program_promise(&share);
	assert_program_promise(&alone_objects);
	assert_program_promise(&share_objects);
}

/*
 * Factors per thread: shares are computed as if the groups were one, which errs on the side of
 * wide intervals, so only the lower bound applies.
 */
static void
test_sites_of_several_threads(void **state)
{
	static struct program_tallies each, pooled;
	struct th_random random;

	(void)state;
	skip_under_an_emulator();
	th_random_seed(&random, 2);
	for (int i = 0; i < programs; i++) {
		struct simulated_heap heap;

		simulated_heap_init(&heap, (uint64_t)(programs + i), INTERVAL);
		run_program(&heap, &random, 3);
		count_calibrated(&pooled, NULL, &heap, false);
		count_calibrated(&each, NULL, &heap, true);
		simulated_heap_deinit(&heap);
	}
	print_program_tallies("Bytes, three threads, one factor", &pooled);
	print_program_tallies("Bytes, three threads, a factor each", &each);
	assert_program_promise(&pooled);
	for (size_t i = 0; i < SIZES; i++) {
		assert_not_below_95(&each.site[i][MANY_SAMPLES], 0.01);
		assert_not_below_95(&each.site[i][FEW_SAMPLES], 0.01);
	}
}

/* One site that allocates blocks of several sizes */

struct mixture {
	const char *name;
	uint64_t sizes[3];
};

static void
run_mixture(
	struct simulated_heap *heap, struct th_random *random, const struct mixture *mixture)
{
	for (size_t i = 0; i < 3 && mixture->sizes[i] > 0; i++) {
		double p = sampling_probability(mixture->sizes[i], INTERVAL);
		uint64_t blocks = (uint64_t)ceil(log_uniform(random, 0.3, 100) / p);

		while (blocks-- > 0)
			simulated_allocate(heap, 0, 0, mixture->sizes[i]);
	}
}

static void
test_sites_of_mixed_sizes(void **state)
{
	static const struct mixture mixtures[] = {
		{"16, 4 Ki", {16, 4 * KIB}},
		{"16, 4 Mi", {16, 4 * MIB}},
		{"4Ki, 64Ki", {4 * KIB, 64 * KIB}},
		{"200, 512Ki", {200, 512 * KIB}},
		{"64Ki, 1Mi", {64 * KIB, MIB}},
		{"three", {16, 64 * KIB, MIB}},
	};
	static struct tally all[SAMPLE_CLASSES];
	struct th_random random;

	(void)state;
	skip_under_an_emulator();
	th_random_seed(&random, 3);
	print_heading("Bytes, mixed sizes at one site");
	for (size_t m = 0; m < sizeof(mixtures) / sizeof(mixtures[0]); m++) {
		struct tally tallies[SAMPLE_CLASSES] = {0};

		for (int i = 0; i < programs; i++) {
			struct simulated_heap heap;
			struct th_estimator sum;
			struct th_estimate estimate;

			simulated_heap_init(&heap, (uint64_t)(1000000 + i), INTERVAL);
			run_mixture(&heap, &random, &mixtures[m]);
			sum = simulated_sum(&heap, 0, ALL_THREADS, NULL);
			estimate = th_estimate_bytes(&sum, NULL, simulated_gap(&heap));
			count(tallies, &estimate, (double)heap.sites[0].bytes);
			count(all, &estimate, (double)heap.sites[0].bytes);
			simulated_heap_deinit(&heap);
		}
		print_row(mixtures[m].name, tallies);
		assert_not_below_95(&tallies[MANY_SAMPLES], 0.01);
	}
	print_row("all", all);
	assert_promise(all);
}

/* Two sites that take turns with equal sizes share the bytes evenly */

static void
test_alternating_sites_split_evenly(void **state)
{
	static const uint64_t alternating[] = {64, 80, 4096, 4099, 256 * KIB};
	static struct tally alone[SAMPLE_CLASSES], share[SAMPLE_CLASSES];
	const int runs = programs / 8;

	(void)state;
	skip_under_an_emulator();
	for (size_t k = 0; k < sizeof(alternating) / sizeof(alternating[0]); k++) {
		uint64_t samples[2] = {0, 0};

		for (int run = 0; run < runs; run++) {
			struct simulated_heap heap;
			struct th_estimator whole;
			double factors[ALL_THREADS];

			simulated_heap_init(&heap, (uint64_t)(2000000 + run), INTERVAL);
			/* 64 MiB in total: 128 samples of small blocks are expected. */
			for (uint64_t bytes = 0; bytes < 64 * MIB;
				bytes += 2 * alternating[k]) {
				simulated_allocate(&heap, 0, 0, alternating[k]);
				simulated_allocate(&heap, 0, 1, alternating[k]);
			}
			find_factors(&heap, false, factors);
			whole = simulated_sum(&heap, ALL_SITES, ALL_THREADS, factors);
			for (unsigned i = 0; i < 2; i++) {
				struct th_estimator raw = simulated_sum(
					&heap, i, ALL_THREADS, NULL);
				struct th_estimator sum = simulated_sum(
					&heap, i, ALL_THREADS, factors);
				struct th_estimate estimate = th_estimate_bytes(
					&raw, NULL, simulated_gap(&heap));

				count(alone, &estimate, (double)heap.sites[i].bytes);
				estimate = th_estimate_bytes(
					&sum, &whole, simulated_gap(&heap));
				count(share, &estimate, (double)heap.sites[i].bytes);
				samples[i] += raw.samples;
			}
			simulated_heap_deinit(&heap);
		}
		/* Each sample belongs to either with probability 1/2. */
		assert_true(fabs((double)samples[0] - (double)samples[1]) <
			    4 * sqrt((double)(samples[0] + samples[1])));
	}
	print_heading("Two alternating sites");
	print_row("alone", alone);
	print_row("share", share);
	assert_not_below_95(&alone[MANY_SAMPLES], 0);
	/*
	 * The two shares of a run are right or wrong together, so the number of trials is
	 * halved.
	 */
	share[MANY_SAMPLES].sites /= 2;
	share[MANY_SAMPLES].below /= 2;
	share[MANY_SAMPLES].above /= 2;
	assert_not_below_95(&share[MANY_SAMPLES], 0);
}

/* The sampling changes while the program runs */

static void
change_sampling(struct simulated_heap *heap, int phase)
{
	static const uint64_t intervals[] = {INTERVAL, 4 * INTERVAL, INTERVAL / 2, INTERVAL};
	static const double keeps[] = {1, 0.9, 0.25, 0.5};

	heap->interval = intervals[phase];
	heap->keep = keeps[phase];
}

/*
 * A drawn countdown keeps its interval until the next sample, as on a thread. The mean of
 * estimate / truth is 1, within four standard errors computed from the estimates themselves.
 */
static void
test_thinning_and_changes_of_interval(void **state)
{
	static struct program_tallies tallies;
	struct th_random random;
	double sum = 0, squares = 0;
	int sites = 0;

	(void)state;
	skip_under_an_emulator();
	th_random_seed(&random, 4);
	for (int i = 0; i < programs / 2; i++) {
		struct simulated_heap heap;

		simulated_heap_init(&heap, (uint64_t)(3000000 + i), INTERVAL);
		for (int phase = 0; phase < 4; phase++) {
			change_sampling(&heap, phase);
			run_program(&heap, &random, 1);
		}
		for (unsigned k = 0; k < SIZES; k++) {
			struct th_estimator all = simulated_sum(&heap, k, ALL_THREADS, NULL);
			struct th_estimate estimate = th_estimate_bytes(
				&all, NULL, simulated_gap(&heap));
			double truth = (double)heap.sites[k].bytes;
			double ratio = estimate.estimate / truth;

			sum += ratio;
			squares += ratio * ratio;
			sites++;
			count_site(&tallies, k, &estimate, truth);
		}
		simulated_heap_deinit(&heap);
	}
	print_program_tallies("Bytes, thinned, with changing intervals", &tallies);
	assert_true(tallies.all[MANY_SAMPLES].sites >= 400);
	assert_not_below_95(&tallies.all[MANY_SAMPLES], 0.01);
	assert_not_below_95(&tallies.all[FEW_SAMPLES], 0.02);
	assert_true(fabs(sum / sites - 1) < 4 * sqrt(squares / sites - 1) / sqrt(sites));
}

/*
 * The effect of rate control on a program that is busy from the start: few bytes at the
 * configured interval, most of them at a larger one. Half of the sites allocate throughout, the
 * others mostly early.
 */
struct phase {
	double part;      /* of the bytes of a steady site */
	double early;     /* of an early one */
	unsigned stretch; /* of the interval */
};

static const struct phase phases[] = {{0.15, 0.6, 1}, {0.15, 0.2, 4}, {0.7, 0.2, 12}};

#define PHASES (sizeof(phases) / sizeof(phases[0]))

static bool
is_early(unsigned site)
{
	return site % 2 == 1;
}

/* Enough bytes for 0.3 to 100 samples at an eighth of the largest interval. */
static void
run_thinned_program(struct simulated_heap *heap, struct th_random *random)
{
	double bytes[SIZES];

	for (size_t i = 0; i < SIZES; i++)
		bytes[i] = log_uniform(random, 0.3, 100) * INTERVAL * 1.5;
	for (size_t phase = 0; phase < PHASES; phase++) {
		heap->interval = (uint64_t)INTERVAL * phases[phase].stretch;
		for (unsigned i = 0; i < SIZES; i++) {
			double part = is_early(i) ? phases[phase].early : phases[phase].part;
			uint64_t size = sizes[i] < KIB ? KIB : sizes[i];
			uint64_t blocks = (uint64_t)llround(bytes[i] * part / (double)size);

			while (blocks-- > 0)
				simulated_allocate(heap, 0, i, size);
		}
	}
}

static void
count_thinned(struct tally steady[SAMPLE_CLASSES], struct tally early[SAMPLE_CLASSES],
	const struct simulated_heap *heap, bool is_share)
{
	double factors[ALL_THREADS];
	struct th_estimator whole;

	find_factors(heap, false, factors);
	whole = simulated_sum(heap, ALL_SITES, ALL_THREADS, factors);
	for (unsigned i = 0; i < SIZES; i++) {
		struct th_estimator sum = simulated_sum(
			heap, i, ALL_THREADS, is_share ? factors : NULL);
		struct th_estimate estimate = th_estimate_bytes(
			&sum, is_share ? &whole : NULL, simulated_gap(heap));

		if (heap->sites[i].bytes > 0)
			count(is_early(i) ? early : steady, &estimate,
				(double)heap->sites[i].bytes);
	}
}

static void
test_sites_of_a_thinned_program(void **state)
{
	static struct tally steady[2][SAMPLE_CLASSES], early[2][SAMPLE_CLASSES];
	struct th_random random;

	(void)state;
	skip_under_an_emulator();
	th_random_seed(&random, 5);
	for (int i = 0; i < programs; i++) {
		struct simulated_heap heap;

		simulated_heap_init(&heap, (uint64_t)(4000000 + i), INTERVAL);
		run_thinned_program(&heap, &random);
		for (int is_share = 0; is_share < 2; is_share++)
			count_thinned(steady[is_share], early[is_share], &heap, is_share);
		simulated_heap_deinit(&heap);
	}
	print_heading("Bytes, thinned by rate control");
	print_row("steady", steady[0]);
	print_row("early", early[0]);
	print_row("steady share", steady[1]);
	print_row("early share", early[1]);
	for (int is_share = 0; is_share < 2; is_share++) {
		assert_not_below_95(&steady[is_share][MANY_SAMPLES], 0.01);
		assert_not_below_95(&steady[is_share][FEW_SAMPLES], 0);
		assert_not_below_95(&early[is_share][MANY_SAMPLES], 0.01);
		assert_not_below_95(&early[is_share][FEW_SAMPLES], 0);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites_of_one_thread),
		cmocka_unit_test(test_sites_of_several_threads),
		cmocka_unit_test(test_sites_of_mixed_sizes),
		cmocka_unit_test(test_alternating_sites_split_evenly),
		cmocka_unit_test(test_thinning_and_changes_of_interval),
		cmocka_unit_test(test_sites_of_a_thinned_program),
	};

	if (argc > 1)
		programs = atoi(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
