/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports compared with the truth, on every JDK: examples/mixed prints the allocations of each
 * of its sites, and the report's interval, widened for chance, must contain them.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>

/* Share of the samples below a Java frame that must have the whole path. */
#define PATH_SHARE 0.99

static const char *const settings[] = {
	"TWINHEAP_INTERVAL=64k",
	"TWINHEAP_SEED=1",
	"TWINHEAP_DEPTH=1024",
	NULL,
};

static void
record(const struct th_jdk *jdk, const char *const *jvm_options, const char *const *arguments,
	struct th_recording *ret)
{
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = jvm_options,
			.arguments = arguments,
			.settings = settings,
		},
		ret);
	th_recording_load(ret);
}

static void
check_with(const struct th_jdk *jdk, const char *const *jvm_options,
	const char *const *arguments, const char *value)
{
	struct th_recording recording;

	record(jdk, jvm_options, arguments, &recording);
	th_recording_check_sites(&recording, "native", value);
	th_recording_check_sites(&recording, "java", value);
	th_recording_deinit(&recording);
}

static void
check(const struct th_jdk *jdk, const char *const *arguments, const char *value)
{
	check_with(jdk, NULL, arguments, value);
}

static void
sizes(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "sizes"), "alloc_bytes");
}

static void
objects(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "sizes"), "alloc_objects");
}

static void
functions_and_jni(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "16M", "functions", "jni", "deep"), "alloc_bytes");
}

/*
 * Two sites of equal size in strict alternation: a sampler with a stride would find only one.
 */
static void
twins(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "64M", "twins"), "alloc_bytes");
}

/*
 * Small objects allocated alternately with large ones: HotSpot's own weights are up to 72 times
 * off for the small ones before JDK 25, depending on collector, sizes and threads.
 */
static void
mix_on_z(const struct th_jdk *jdk)
{
	if (!th_jdk_has_collector(jdk, "-XX:+UseZGC")) /* 11 on aarch64 */
		return;
	check_with(jdk, TH_WORDS("-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC", "-Xmx512m"),
		TH_WORDS("--volume", "512M", "--threads", "2", "mix:128,4096,300000"),
		"alloc_bytes");
}

static void
mix_on_g1(const struct th_jdk *jdk)
{
	check_with(jdk, TH_WORDS("-XX:+UseG1GC", "-Xmx512m"),
		TH_WORDS("--volume", "128M", "--threads", "8", "mix:64,8192,131072"),
		"alloc_bytes");
}

static void
mix_on_parallel(const struct th_jdk *jdk)
{
	check_with(jdk, TH_WORDS("-XX:+UseParallelGC", "-Xmx512m"),
		TH_WORDS("--volume", "512M", "--threads", "2", "mix:32,2048,98304"),
		"alloc_bytes");
}

static void
mix_of_two(const struct th_jdk *jdk)
{
	check_with(jdk, TH_WORDS("-XX:+UseSerialGC", "-Xmx512m"),
		TH_WORDS("--volume", "1G", "mix:1024,262144"), "alloc_bytes");
}

static void
mix_in_small_tlabs(const struct th_jdk *jdk)
{
	check_with(jdk, TH_WORDS("-XX:-ResizeTLAB", "-XX:TLABSize=16k", "-XX:MinTLABSize=2k"),
		TH_WORDS("--volume", "64M", "mix:64,1400"), "alloc_bytes");
}

/* Short-lived threads that allocate a quarter of an interval each. */
static void
short_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "16M", "threads"), "alloc_bytes");
}

static void
several_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "16M", "--threads", "4", "sizes"), "alloc_bytes");
}

static void
virtual_threads(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "virtual"), "alloc_bytes");
}

static void
live_blocks(const struct th_jdk *jdk)
{
	check(jdk, TH_WORDS("--volume", "32M", "live"), "live_bytes");
}

/* Of all samples at a site of the truth, the share whose stack contains its whole path. */
static void
check_paths(const struct th_recording *recording)
{
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);
		const json_t *frames = json_object_get(site, "path");
		const char *path[32] = {NULL};
		struct th_stack_filter filter = {
			.heap = json_string_value(json_object_get(site, "heap")),
			.frame = json_string_value(json_object_get(site, "site")),
		};
		double all = th_recording_sum(recording, &filter, "alloc_bytes").samples;
		double whole;

		assert_in_range(json_array_size(frames), 1, 31);
		for (size_t k = 0; k < json_array_size(frames); k++)
			path[k] = json_string_value(json_array_get(frames, k));
		filter.path = path;
		whole = th_recording_sum(recording, &filter, "alloc_bytes").samples;
		print_message("%s, %s: %.0f of %.0f samples with the whole path\n",
			filter.frame, filter.heap, whole, all);
		assert_true(all >= 100);
		assert_true(whole >= PATH_SHARE * all);
	}
}

/* Java, C, Java, C, Java, C; and C in a class initializer, called by the VM. */
static void
paths_across_languages(const struct th_jdk *jdk)
{
	struct th_recording recording;

	record(jdk, NULL, TH_WORDS("--volume", "32M", "path", "initializer"), &recording);
	check_paths(&recording);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"sizes", sizes, 0},
		{"objects", objects, 0},
		{"functions and JNI", functions_and_jni, 0},
		{"twins", twins, 0},
		{"a mix on Z", mix_on_z, 0},
		{"a mix on G1", mix_on_g1, 0},
		{"a mix on Parallel", mix_on_parallel, 0},
		{"a mix of two", mix_of_two, 0},
		{"a mix in small TLABs", mix_in_small_tlabs, 0},
		{"short threads", short_threads, 0},
		{"several threads", several_threads, 0},
		{"virtual threads", virtual_threads, 21},
		{"live blocks", live_blocks, 0},
		{"paths across languages", paths_across_languages, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("sites", tests);
}
