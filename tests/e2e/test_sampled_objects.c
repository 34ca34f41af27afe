/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java heap object by object, covering the cases of JEP 331's own tests: objects and arrays
 * of every kind in interpreted and compiled code, recursion, allocations by the VM and JNI for
 * others; the recording switched off and on under many threads; the number of samples per
 * interval, and that a thread's first object is no more likely than any other.
 *
 * With interval 0 every object is a sample, so the report must equal the output of
 * tests/programs/SampledObjects.java for each site: every object, byte and line.
 */
#include "tests/e2e/harness.h"
#include "tests/e2e/stacks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS TH_TEST_BUILD "/tests/programs"
#define JAR PROGRAMS "/programs.jar"
#define LIBRARY PROGRAMS "/libsampled.so"
#define PATH_MAX_FRAMES 64
#define WORDS_MAX 24
/* Helpers of SampledObjects, which allocate a lot, too. */
#define HELPERS "^SampledObjects\\.(say.*|here|<clinit>)$"
/* Allocations by the VM and the JDK in a small program: 1 to 3 MB were measured. */
#define OWN_BYTES_MAX (8 << 20)

/* Both lists end with NULL. */
static void
record(const struct th_jdk *jdk, const char *const *options, const char *const *arguments,
	const char *const *settings, struct th_recording *ret)
{
	const char *words[WORDS_MAX] = {jdk->java, "-Xmx200m"};
	size_t count = 2;

	for (; *options; options++) {
		assert_true(count < WORDS_MAX - 3);
		words[count++] = *options;
	}
	words[count++] = "-cp";
	words[count++] = JAR;
	for (; *arguments; arguments++) {
		assert_true(count < WORDS_MAX - 1);
		words[count++] = *arguments;
	}
	th_recording_run(
		&(struct th_recording_plan){.arguments = words, .settings = settings}, ret);
}

static double
number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Every kind of object */

static bool
is_named(const json_t *frame, const char *name)
{
	return strcmp(th_text_of(frame, "name"), name) == 0;
}

/* The line of the last method of SampledObjects itself. */
static double
line_of(const json_t *stack)
{
	const json_t *frames = json_object_get(stack, "frames");
	double line = 0;

	for (size_t i = 0; i < json_array_size(frames); i++) {
		const json_t *frame = json_array_get(frames, i);

		if (strncmp(th_text_of(frame, "name"), "SampledObjects.", 15) == 0)
			line = number_of(frame, "line");
	}
	return line;
}

/* Whether the stack ends with exactly this path, without other frames in between. */
static bool
ends_with(const json_t *stack, const json_t *path)
{
	const json_t *frames = json_object_get(stack, "frames");
	size_t count = json_array_size(frames);
	size_t length = json_array_size(path);

	if (count < length)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!is_named(json_array_get(frames, count - length + i),
			    json_string_value(json_array_get(path, i))))
			return false;
	}
	return true;
}

static bool
has_path(const json_t *stack, const json_t *path)
{
	const char *names[PATH_MAX_FRAMES] = {NULL};

	assert_true(json_array_size(path) < PATH_MAX_FRAMES);
	for (size_t i = 0; i < json_array_size(path); i++)
		names[i] = json_string_value(json_array_get(path, i));
	return th_stack_has_path(stack, names);
}

static bool
is_of_site(const json_t *stack, const json_t *site)
{
	const json_t *path = json_object_get(site, "path");

	if (strcmp(th_text_of(stack, "class"), th_text_of(site, "class")) != 0)
		return false;
	return json_is_true(json_object_get(site, "open")) ? has_path(stack, path)
							   : ends_with(stack, path);
}

/* Every object of the site is reported, with its class, size, stack and line, and no other. */
static void
check_site(const struct th_recording *recording, const json_t *site)
{
	const json_t *stacks = json_object_get(recording->report, "stacks");
	const json_t *path = json_object_get(site, "path");
	double line = number_of(site, "line");
	double objects = 0, bytes = 0;

	for (size_t i = 0; i < json_array_size(stacks); i++) {
		const json_t *stack = json_array_get(stacks, i);

		if (!is_of_site(stack, site) || (line > 0 && line_of(stack) != line))
			continue;
		assert_string_equal(th_text_of(stack, "thread"), "main");
		objects += th_figure_read(stack, "alloc_objects").estimate;
		bytes += th_figure_read(stack, "alloc_bytes").estimate;
	}
	if (objects != number_of(site, "objects") || bytes != number_of(site, "bytes"))
		fail_msg("%s below %s, %zu frames, line %.0f: %.0f of %.0f objects, "
			 "%.0f of %.0f bytes",
			th_text_of(site, "class"), json_string_value(json_array_get(path, 2)),
			json_array_size(path), line, objects, number_of(site, "objects"), bytes,
			number_of(site, "bytes"));
}

static void
check_every_kind(const struct th_jdk *jdk, const char *const *options)
{
	struct th_recording recording;

	record(jdk, options, TH_WORDS("SampledObjects", LIBRARY),
		TH_WORDS("TWINHEAP_INTERVAL=0", "TWINHEAP_HEAPS=java"), &recording);
	th_recording_load_with(&recording,
		TH_WORDS("--include", "^SampledObjects\\.main$", "--exclude", HELPERS));
	assert_true(json_array_size(recording.truth) >= 70);
	for (size_t i = 0; i < json_array_size(recording.truth); i++)
		check_site(&recording, json_array_get(recording.truth, i));
	th_recording_check_sum(&recording);
	th_recording_deinit(&recording);
}

static void
interpreted(const struct th_jdk *jdk)
{
	check_every_kind(jdk, TH_WORDS("-Xint", "-XX:+UseSerialGC"));
}

#define COMPILED                              \
	"-Xcomp", "-XX:CompileCommand=quiet", \
		"-XX:CompileCommand=compileonly,SampledObjects*::*"

static void
by_the_client_compiler(const struct th_jdk *jdk)
{
	const char *collector = th_jdk_has_collector(jdk, "-XX:+UseZGC") ? "-XX:+UseZGC"
									 : "-XX:+UseG1GC";

	check_every_kind(jdk, TH_WORDS(COMPILED, "-XX:TieredStopAtLevel=1",
				      "-XX:+UnlockExperimentalVMOptions", collector));
}

static void
by_the_server_compiler(const struct th_jdk *jdk)
{
	check_every_kind(
		jdk, TH_WORDS(COMPILED, "-XX:-TieredCompilation", "-XX:+UseParallelGC"));
}

/* Threads */

#define THREADS 16

static struct th_figure
site_of(const struct th_recording *recording, const char *site, const char *value)
{
	return th_recording_sum(recording,
		&(struct th_stack_filter){
			.heap = "java", .frame = site, .class_name = "byte[]"},
		value);
}

static const json_t *
truth_of(const struct th_recording *recording, const char *site)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *truth = json_array_get(recording->truth, i);

		if (strcmp(th_text_of(truth, "site"), site) == 0)
			return truth;
	}
	fail_msg("the program does not speak of %s", site);
	return NULL;
}

/*
 * While recording is off, no allocation of any thread is recorded.  While it is on all are,
 * except for the remainder of a thread's TLAB when sampling resumes, and for its first sample
 * after that.
 */
static void
switched_under_threads(const struct th_jdk *jdk)
{
	const double resumes = 3;
	const double tlab = 16384;
	struct th_recording recording;
	struct th_figure total;
	const json_t *on;
	double samples;

	record(jdk, TH_WORDS("-XX:+UseParallelGC", "-XX:TLABSize=16k", "-XX:-ResizeTLAB"),
		TH_WORDS("SampledThreads", "switched", "16", TH_TOOL),
		TH_WORDS("TWINHEAP_INTERVAL=0", "TWINHEAP_HEAPS=java"), &recording);
	th_recording_load(&recording);
	on = truth_of(&recording, "SampledThreads.on");
	samples = site_of(&recording, "SampledThreads.on", "alloc_objects").samples;
	print_message("%.0f of %.0f objects\n", samples, number_of(on, "objects"));
	assert_true(samples <= number_of(on, "objects"));
	assert_true(samples >= number_of(on, "objects") -
				       resumes * THREADS * (tlab / number_of(on, "size") + 1));
	assert_true(site_of(&recording, "SampledThreads.off", "alloc_objects").samples == 0);
	total = th_recording_total(&recording, "java", "alloc_bytes");
	assert_true(total.exact);
	assert_true(total.estimate >= number_of(on, "bytes"));
	assert_true(total.estimate <= number_of(on, "bytes") + OWN_BYTES_MAX);
	th_recording_deinit(&recording);
}

/* Number of samples */

/* Probability that one of these checks fails although the sampler is unbiased. */
#define FALSE_ALARM 1e-8

/* Divergence of `part` between distributions of two outcomes, in nats. */
static double
divergence(double part, double expected)
{
	double yes = part > 0 ? part * log(part / expected) : 0;
	double no = part < 1 ? (1 - part) * log((1 - part) / (1 - expected)) : 0;

	return yes + no;
}

/*
 * Each object is a sample with probability 1 - exp(-size / interval), independently, so their
 * number has a binomial distribution.  By Chernoff's bound it deviates as far as `part` on one
 * side with probability exp(-objects * divergence) at most.
 */
static bool
is_unbiased(double samples, double objects, double size, double interval)
{
	double expected = -expm1(-size / interval);

	return objects * divergence(samples / objects, expected) <= log(2 / FALSE_ALARM);
}

static void
check_number(const struct th_recording *recording, const json_t *site, double interval)
{
	const char *name = th_text_of(site, "site");
	double samples = site_of(recording, name, "alloc_objects").samples;
	double objects = number_of(site, "objects");
	double size = number_of(site, "size");

	print_message("%s, interval %.0f: %.0f samples, %.0f expected\n", name, interval,
		samples, -objects * expm1(-size / interval));
	assert_true(is_unbiased(samples, objects, size, interval));
}

/* Runs SampledThreads and compares the number of samples of each site with the interval. */
static void
check_numbers(const struct th_jdk *jdk, const char *const *arguments, double interval)
{
	struct th_recording recording;
	char *setting = th_format("TWINHEAP_INTERVAL=%.0f", interval);

	record(jdk, TH_WORDS(NULL), arguments, TH_WORDS(setting, "TWINHEAP_HEAPS=java"),
		&recording);
	th_recording_load(&recording);
	assert_true(json_array_size(recording.truth) > 0);
	for (size_t i = 0; i < json_array_size(recording.truth); i++)
		check_number(&recording, json_array_get(recording.truth, i), interval);
	th_recording_deinit(&recording);
	free(setting);
}

/*
 * Checked by hand: of 1000 coins 500 are heads, and never 300; 3 sigmas are chance, 7 are not.
 */
static void
bias_is_detected(void **state)
{
	const double coin = 1 /
			    log(2); /* an interval that samples half of all objects of 1 byte */

	(void)state;
	assert_true(is_unbiased(500, 1000, 1, coin));
	assert_false(is_unbiased(300, 1000, 1, coin));
	assert_false(is_unbiased(0, 1000, 1, coin));
	assert_false(is_unbiased(1000, 1000, 1, coin));
	/* p = 0.01, 400 expected, sigma 19.9. */
	assert_true(is_unbiased(460, 40000, 1, -1 / log1p(-0.01)));
	assert_false(is_unbiased(545, 40000, 1, -1 / log1p(-0.01)));
}

static void
numbers_of_samples(const struct th_jdk *jdk)
{
	const char *const *arguments = TH_WORDS("SampledThreads", "sizes", "48");

	check_numbers(jdk, arguments, 65536);
	check_numbers(jdk, arguments, 262144);
}

/*
 * The first object of a thread is also the first of its TLAB: it must be sampled as often as
 * any other of its size.
 */
static void
first_objects(const struct th_jdk *jdk)
{
	check_numbers(jdk, TH_WORDS("SampledThreads", "first", "2000"), 65536);
}

/*
 * The VM verifies its heap before and after each of its collections: small objects in TLABs whose end
 * the library moves (up to JDK 16), and larger ones beside them, after which it does so, in threads that
 * collections interrupt anywhere.
 */
static void
heap_stays_whole(const struct th_jdk *jdk)
{
	static const char *const collectors[] = {
		"-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseZGC"};
	const char *const *arguments = TH_WORDS("RandomMix", "7", "4", "60000000", "turns",
		"40:1", "200:1", "6000:1", "70000:1");

	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		struct th_recording recording;
		bool is_z = i == 3;

		if (is_z && !th_jdk_has_collector(jdk, collectors[i]))
			continue;
		/* Z verifies nothing with these options. */
		record(jdk,
			TH_WORDS("-XX:+UnlockExperimentalVMOptions",
				"-XX:+UnlockDiagnosticVMOptions", collectors[i],
				is_z ? "-Xms64m" : "-Xmn8m", "-XX:+VerifyBeforeGC",
				"-XX:+VerifyAfterGC", NULL),
			arguments,
			TH_WORDS("TWINHEAP_INTERVAL=2k", "TWINHEAP_HEAPS=java", NULL),
			&recording);
		th_recording_deinit(&recording);
	}
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"interpreted", interpreted, 0},
		{"by the client compiler", by_the_client_compiler, 0},
		{"by the server compiler", by_the_server_compiler, 0},
		{"switched under threads", switched_under_threads, 0},
		{"numbers of samples", numbers_of_samples, 0},
		{"first objects", first_objects, 0},
		{"heap stays whole", heap_stays_whole, 0},
		{NULL, NULL, 0},
	};
	const struct CMUnitTest own[] = {
		cmocka_unit_test(bias_is_detected),
	};
	int failed = cmocka_run_group_tests_name("law", own, NULL, NULL);

	return failed + th_jdk_run_tests("sampled objects", tests);
}
