/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures compared with the truth, on every JDK: examples/mixed prints the allocations of each
 * of its sites.  A 95 % interval that never misses is as wrong as one that misses often, but
 * only the latter is misleading: over all sites and runs together, the number that contain the
 * truth must be at least what such coverage makes nearly certain.  Totals are counted, so they
 * must be correct each time.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Coverage of an interval. */
#define COVERAGE 0.95
/* Probability that this test fails although the coverage is correct. */
#define FALSE_ALARM 1e-8
/*
 * One sample per 64 KiB misses one block of this size in 3,000.  With so few misses an interval
 * nearly always contains the truth, and its coverage is not informative.
 */
#define CERTAIN_BYTES (8 * 65536)
/*
 * Of the 64 blocks of one of these sites at most, more than three are missed once in 10^8 runs.
 */
#define MISSED_MAX 3
/*
 * Allocations by the VM and the JDK in an interpreted run: measured 1 to 3 MB of Java and 8 to
 * 24 MB of C.
 */
#define OWN_JAVA_BYTES_MAX (6 << 20)
#define OWN_NATIVE_BYTES_MAX (32 << 20)

/* Sites whose interval was checked, and those whose interval contains the truth. */
static struct tally {
	size_t sites;
	size_t inside;
} tally;

/*
 * Each run has a different seed: with a common one their native samples would be the same, and
 * random errors would count several times.
 */
static void
record(const struct th_jdk *jdk, const char *const *options, const char *const *arguments,
	struct th_recording *ret)
{
	static unsigned runs;
	char seed[32];

	snprintf(seed, sizeof(seed), "TWINHEAP_SEED=%u", ++runs);
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = options,
			.arguments = arguments,
			.settings = TH_WORDS(
				"TWINHEAP_INTERVAL=64k", "TWINHEAP_DEPTH=1024", seed),
		},
		ret);
}

static void
check_site(const struct th_recording *recording, const json_t *site)
{
	const char *heap = json_string_value(json_object_get(site, "heap"));
	const char *name = json_string_value(json_object_get(site, "site"));
	double truth = json_number_value(json_object_get(site, "bytes"));
	double size = json_number_value(json_object_get(site, "size"));
	struct th_figure figure = th_recording_site(recording, heap, name, "alloc_bytes");
	bool inside = th_figure_covers(&figure, truth, 1);

	print_message("%-30s %-6s %10.0f: %10.0f [%10.0f, %10.0f] %5.0f samples%s\n", name,
		heap, truth, figure.estimate, figure.low, figure.high, figure.samples,
		inside ? "" : ", missed");
	if (size >= CERTAIN_BYTES) {
		assert_true(fabs(figure.estimate - truth) <= MISSED_MAX * size);
		return;
	}
	th_assert_covers(&figure, truth, name);
	tally.sites++;
	tally.inside += inside;
}

/* Compares all sites of a run with the report. */
static void
check(const struct th_jdk *jdk, const char *const *arguments)
{
	struct th_recording recording;

	record(jdk, NULL, arguments, &recording);
	for (size_t i = 0; i < json_array_size(recording.truth); i++)
		check_site(&recording, json_array_get(recording.truth, i));
	th_recording_deinit(&recording);
}

static void
sizes(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "16M", "sizes"));
}

static void
functions(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "8M", "functions", "jni", "path", "initializer"));
}

/*
 * Two sites of equal size in strict alternation: a sampler with a stride would find only one.
 */
static void
twins(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "twins"));
	check(jdk, TH_WORDS("--volume", "8M", "--threads", "4", "twins"));
}

/*
 * Short-lived threads that allocate a quarter of an interval each, in either heap.  HotSpot
 * seeds a thread's sampler with the thread's address, and consecutive threads get the same
 * address: with its own draws all of them would be sampled at the same point, or none.
 */
static void
short_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "16M", "threads"));
}

static void
several_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "4M", "--threads", "8", "sizes"));
}

static void
virtual_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "virtual"));
}

/* Exact totals */

static double
sum_of_sites(const struct th_recording *recording, const char *heap)
{
	double sum = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);

		if (strcmp(json_string_value(json_object_get(site, "heap")), heap) == 0)
			sum += json_number_value(json_object_get(site, "bytes"));
	}
	return sum;
}

/* The total is counted: it includes all known allocations, and little else. */
static void
check_total(const struct th_recording *recording, const char *heap, double own_bytes_max)
{
	struct th_figure total = th_recording_total(recording, heap, "alloc_bytes");
	double known = sum_of_sites(recording, heap);

	print_message("%s: %.0f known, %.0f besides\n", heap, known, total.estimate - known);
	assert_true(total.exact);
	assert_true(total.low == total.estimate && total.high == total.estimate);
	assert_true(total.estimate >= known);
	assert_true(total.estimate <= known + own_bytes_max);
}

/* Interpreted, so that compilers allocate nothing; main thread, short and long-lived threads. */
static void
exact_totals(const struct th_jdk *jdk)
{
	const char *const *const runs[] = {
		TH_WORDS("--volume", "32M", "sizes", "functions"),
		TH_WORDS("--volume", "4M", "--threads", "8", "sizes"),
		TH_WORDS("--volume", "2M", "threads"),
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct th_recording recording;

		record(jdk, TH_WORDS("-Xint"), runs[i], &recording);
		th_recording_load(&recording);
		check_total(&recording, "java", OWN_JAVA_BYTES_MAX);
		check_total(&recording, "native", OWN_NATIVE_BYTES_MAX);
		th_recording_deinit(&recording);
	}
}

/* All runs together */

/*
 * The smallest number of hits among `count` that correct intervals fall below with probability
 * FALSE_ALARM at most: the lower tail of the binomial distribution.
 */
static size_t
least_inside(size_t count)
{
	double term = pow(1 - COVERAGE, (double)count);
	double below = 0;
	size_t hits = 0;

	while (below + term <= FALSE_ALARM) {
		below += term;
		hits++;
		term *= (double)(count - hits + 1) / (double)hits * COVERAGE / (1 - COVERAGE);
	}
	return hits;
}

static void
intervals_hold_what_they_promise(void **state)
{
	(void)state;
	/*
	 * Checked by hand: 0.05^6 is more than 1e-8, 0.05^7 is less, 0.05^7 + 7 0.05^6 0.95 is
	 * more.
	 */
	assert_int_equal(least_inside(6), 0);
	assert_int_equal(least_inside(7), 1);
	print_message("%zu of %zu intervals hold the truth, %zu have to\n", tally.inside,
		tally.sites, least_inside(tally.sites));
	assert_true(tally.sites >= 20);
	assert_true(tally.inside >= least_inside(tally.sites));
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"sizes", sizes, 0},
		{"functions", functions, 0},
		{"twins", twins, 0},
		{"short threads", short_threads, 0},
		{"several threads", several_threads, 0},
		{"virtual threads", virtual_threads, 21},
		{"exact totals", exact_totals, 0},
		{NULL, NULL, 0},
	};
	const struct CMUnitTest together[] = {
		cmocka_unit_test(intervals_hold_what_they_promise),
	};
	int failed = th_jdk_run_tests("totals", tests);

	return failed + cmocka_run_group_tests_name("coverage", together, NULL, NULL);
}
