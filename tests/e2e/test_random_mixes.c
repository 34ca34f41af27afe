/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random mixes of 2 to 4 sizes from 32 bytes to 1 MB in 1 to 4 threads, on each JDK and under each
 * collector: no site's estimate is off by more than 5 % unless chance explains it.  HotSpot's own
 * sampler fails this before JDK 25 (JDK-8356372).
 *
 * TH_TEST_MIXES=N: N mixes on each JDK, of twice the volume, and a narrower limit; 50 on each of four
 * JDKs take about a quarter of an hour.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define MIXES 8 /* on each JDK: 9 s */
#define VOLUME 1e9
#define VOLUME_THOROUGH 2e9
#define SIZES_MAX 4
#define SMALLEST 32.0
#define LARGEST (double)(1 << 20)
#define OFF 0.05
/*
 * Standard deviations, normally distributed for ENOUGH samples.  Six: by chance once in 10^9
 * sites.  Of the 600 sites of 200 mixes one exceeds four once in 26 times.
 */
#define DEVIATIONS 6.0
#define DEVIATIONS_THOROUGH 4.0
#define ENOUGH 50
/* Calls of the VM before a sample; 2.4 were measured at most. */
#define EARLY_MAX 5
/* Ends of countdowns that the VM may pass over, as a part of all samples, and at the start. */
#define MISSED_PART 0.002
#define MISSED_AT_START 5

#define COLLECTORS_MAX 5

struct mix {
	const char *collector; /* an option */
	double interval;       /* bytes */
	const char *interval_setting;
	const char *tlab; /* an option */
	const char *seed;
	const char *threads;
	const char *volume; /* of each thread */
	const char *order;
	const char *sizes[SIZES_MAX]; /* "SIZE:SHARE" */
};

/* What was found on one JDK under one collector. */
struct result {
	const char *collector;
	char *option;
	int mixes;
	int sites; /* with ENOUGH samples */
	int off;
	double worst_ratio;
	double worst_deviation;
	double small_deviations; /* sum over the smallest size of each mix */
	double samples;
	double early;
	double missed;
};

static int
wanted_mixes(void)
{
	const char *text = getenv("TH_TEST_MIXES");

	return text ? atoi(text) : 0;
}

/* Mixes */

static double
uniform(double low, double high)
{
	return low + (high - low) * drand48();
}

static double
choose_between(double low, double high)
{
	return low * pow(high / low, drand48());
}

/* Neighboring seeds of drand48() give similar numbers: the golden ratio's spread them. */
static void
seed(const struct th_jdk *jdk, int number)
{
	uint64_t key = 1000 * (uint64_t)jdk->feature + (uint64_t)number;

	srand48((long)(key * 0x9e3779b97f4a7c15u >> 32));
}

/* Three of four with the TLABs that the VM chooses. */
static char *
choose_tlab(void)
{
	long bytes = lrint(choose_between(4096, 1 << 20));

	return drand48() < 0.75 ? th_format("-XX:+ResizeTLAB")
				: th_format("-XX:TLABSize=%ld", bytes);
}

static void
choose_mix(struct mix *mix, const char *collector)
{
	int threads = (int)uniform(1, 5);
	int count = (int)uniform(2, 5);
	double volume = wanted_mixes() ? VOLUME_THOROUGH : VOLUME;

	*mix = (struct mix){
		.collector = collector,
		.tlab = choose_tlab(),
		.seed = th_format("%ld", lrand48()),
		.threads = th_format("%d", threads),
		.volume = th_format("%.0f", volume / threads),
		.order = drand48() < 0.5 ? "turns" : "random",
		.interval = drand48() < 0.5 ? 65536 : 524288,
	};
	mix->interval_setting = th_format("TWINHEAP_INTERVAL=%.0f", mix->interval);
	for (int i = 0; i < count; i++)
		mix->sizes[i] = th_format("%ld:%.2f",
			lrint(choose_between(SMALLEST, LARGEST)) & ~7l, uniform(0.1, 1));
}

static void
free_mix(struct mix *mix)
{
	free((char *)mix->interval_setting);
	free((char *)mix->tlab);
	free((char *)mix->seed);
	free((char *)mix->threads);
	free((char *)mix->volume);
	for (int i = 0; i < SIZES_MAX; i++)
		free((char *)mix->sizes[i]);
}

static void
record(const struct th_jdk *jdk, const struct mix *mix, struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:+UnlockExperimentalVMOptions",
				mix->collector, "-Xmx1g", mix->tlab, "-cp", JAR, "RandomMix",
				mix->seed, mix->threads, mix->volume, mix->order, mix->sizes[0],
				mix->sizes[1], mix->sizes[2], mix->sizes[3]),
			.settings = TH_WORDS(mix->interval_setting),
		},
		ret);
	th_recording_load(ret);
}

/* Sites */

static double
number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/*
 * The distance of an estimate from the truth in its standard deviations: with an inclusion
 * probability of p for each of n objects the estimate has a variance of n (1 - p) / p objects.
 */
static double
deviation_of(double estimate, const json_t *site, double interval)
{
	double size = number_of(site, "size");
	double p = 1 - exp(-size / interval);
	double deviation = size * sqrt(number_of(site, "objects") * (1 - p) / p);

	return (estimate - number_of(site, "bytes")) / deviation;
}

static bool
is_off(double ratio, double deviation)
{
	double limit = wanted_mixes() ? DEVIATIONS_THOROUGH : DEVIATIONS;

	return fabs(ratio - 1) > OFF && fabs(deviation) > limit;
}

/* Returns the deviation of a site; 0 for one with too few samples to have a normal one. */
static double
add_site(struct result *result, const struct mix *mix, const struct th_recording *recording,
	const json_t *site)
{
	const char *name = json_string_value(json_object_get(site, "site"));
	struct th_figure figure = th_recording_sum(recording,
		&(struct th_stack_filter){.heap = "java", .frame = name}, "alloc_bytes");
	double ratio = figure.estimate / number_of(site, "bytes");
	double deviation = deviation_of(figure.estimate, site, mix->interval);

	print_message("  %7.0f bytes: %.3f of the truth, %+.1f deviations, %.0f samples\n",
		number_of(site, "size"), ratio, deviation, figure.samples);
	if (figure.samples < ENOUGH) {
		th_assert_covers(&figure, number_of(site, "bytes"), name);
		return 0;
	}
	result->sites++;
	result->off += is_off(ratio, deviation);
	if (fabs(ratio - 1) > fabs(result->worst_ratio - 1))
		result->worst_ratio = ratio;
	if (fabs(deviation) > fabs(result->worst_deviation))
		result->worst_deviation = deviation;
	return deviation;
}

static void
add_sites(struct result *result, const struct mix *mix, const struct th_recording *recording)
{
	double smallest = INFINITY;
	double deviation_of_smallest = 0;

	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);
		double deviation = add_site(result, mix, recording, site);

		if (number_of(site, "size") >= smallest)
			continue;
		smallest = number_of(site, "size");
		deviation_of_smallest = deviation;
	}
	result->small_deviations += deviation_of_smallest;
}

static void
run_mix(const struct th_jdk *jdk, int number, const struct mix *mix, struct result *result)
{
	struct th_recording recording;

	record(jdk, mix, &recording);
	print_message("%d %s, mix %d: %s threads, %s, %s, %s\n", jdk->feature,
		result->collector, number, mix->threads, mix->order, mix->tlab,
		mix->interval_setting);
	result->mixes++;
	result->samples += th_recording_counter(&recording, "java_samples");
	result->early += th_recording_counter(&recording, "java_early");
	result->missed += th_recording_counter(&recording, "java_missed");
	add_sites(result, mix, &recording);
	th_recording_deinit(&recording);
}

/* Results */

static void
print_result(const struct th_jdk *jdk, const struct result *result)
{
	print_message("%d %-10s: %d mixes, %d sites, worst ratio %.3f, worst deviation %+.1f, "
		      "smallest sizes %+.1f; %.0f samples, %.2f early calls each, "
		      "%.0f passed over\n",
		jdk->feature, result->collector, result->mixes, result->sites,
		result->worst_ratio, result->worst_deviation,
		result->small_deviations / sqrt(result->mixes), result->samples,
		result->early / result->samples, result->missed);
}

static void
check_result(const struct result *result)
{
	/* A sum of m normal deviates has a deviation of sqrt(m): a bias that all mixes share. */
	assert_true(fabs(result->small_deviations) < DEVIATIONS * sqrt(result->mixes));
	assert_int_equal(result->off, 0);
	assert_true(result->early < EARLY_MAX * result->samples);
	assert_true(result->missed <
		    MISSED_PART * result->samples + MISSED_AT_START * result->mixes);
}

static size_t
find_collectors(const struct th_jdk *jdk, struct result *results)
{
	static const char *const names[] = {"Serial", "Parallel", "G1", "Z", "Shenandoah"};
	size_t count = 0;

	for (size_t i = 0; i < COLLECTORS_MAX; i++) {
		struct result result = {.collector = names[i],
			.option = th_format("-XX:+Use%sGC", names[i]),
			.worst_ratio = 1};

		if (th_jdk_has_collector(jdk, result.option))
			results[count++] = result;
		else
			free(result.option);
	}
	return count;
}

static void
no_site_is_off(const struct th_jdk *jdk)
{
	struct result results[COLLECTORS_MAX];
	size_t collectors = find_collectors(jdk, results);
	int mixes = wanted_mixes() ? wanted_mixes() : MIXES;

	for (int i = 0; i < mixes; i++) {
		struct result *result = &results[(size_t)i % collectors];
		struct mix mix;

		seed(jdk, i);
		choose_mix(&mix, result->option);
		run_mix(jdk, i, &mix, result);
		free_mix(&mix);
	}
	for (size_t i = 0; i < collectors; i++) {
		print_result(jdk, &results[i]);
		free(results[i].option);
	}
	for (size_t i = 0; i < collectors; i++)
		check_result(&results[i]);
}

/*
 * Objects that nearly fill a TLAB, and rare ones that do not fit in: 0.6, 1.2, 1.09 and 0.67 of
 * the truth for one size of each with HotSpot's own count, on 17 and 21.
 */
static void
no_site_is_off_where_the_vm_is(const struct th_jdk *jdk)
{
	static const struct mix mixes[] = {
		{"-XX:+UseZGC", 524288, "TWINHEAP_INTERVAL=512k", "-XX:+ResizeTLAB", "1", "2",
			"2000000000", "turns", {"6000:1", "250000:1"}},
		{"-XX:+UseZGC", 524288, "TWINHEAP_INTERVAL=512k", "-XX:+ResizeTLAB", "1", "2",
			"1000000000", "turns", {"6000:1", "100000:1"}},
		{"-XX:+UseG1GC", 524288, "TWINHEAP_INTERVAL=512k", "-XX:+ResizeTLAB", "1", "4",
			"500000000", "turns", {"13024:1", "38120:1"}},
		{"-XX:+UseG1GC", 524288, "TWINHEAP_INTERVAL=512k", "-XX:+ResizeTLAB", "1", "1",
			"2000000000", "random", {"64:1", "300000:0.1"}},
	};
	struct result result = {.collector = "all", .worst_ratio = 1};

	/* 11 has Z on x86-64 only. */
	for (int i = 0; i < (int)(sizeof(mixes) / sizeof(mixes[0])); i++)
		if (th_jdk_has_collector(jdk, mixes[i].collector))
			run_mix(jdk, i, &mixes[i], &result);
	print_result(jdk, &result);
	check_result(&result);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"no site is off where the VM is", no_site_is_off_where_the_vm_is, 0},
		{"no site is off", no_site_is_off, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("random mixes", tests);
}
