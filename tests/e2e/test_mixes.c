/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small Java objects together with large ones, where HotSpot's own weights are up to 72 times
 * off before JDK 25 (JDK-8356372): the mixes in which the bias was found, each site compared with
 * the truth.  test_random_mixes.c has others.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 4

struct mix {
	const char *options[OPTIONS_MAX];
	const char *threads;
	const char *volume; /* bytes of the largest size that each thread allocates */
	const char *scenario;
};

enum { WITH_Z }; /* release 11 has none on aarch64 */

static const struct mix mixes[] = {
	[WITH_Z] = {{"-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC", "-Xmx2g"}, "2", "1G",
		"mix:128,4096,300000"},
	{{"-XX:+UseG1GC", "-Xmx2g"}, "8", "128M", "mix:64,8192,131072"},
	{{"-XX:+UseParallelGC", "-Xmx2g"}, "2", "512M", "mix:32,2048,98304"},
	{{"-XX:+UseG1GC", "-Xmx2g"}, "1", "1G", "mix:1024,262144"},
	{{"-XX:TLABSize=16k", "-XX:-ResizeTLAB", "-Xmx2g"}, "1", "64M", "mix:64,1400"},
};

static void
record(const struct th_jdk *jdk, const struct mix *mix, struct th_recording *ret)
{
	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = mix->options,
			.arguments = TH_WORDS("--threads", mix->threads, "--volume",
				mix->volume, mix->scenario),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k"),
		},
		ret);
}

static void
check_site(const struct th_recording *recording, const json_t *site)
{
	const char *name = json_string_value(json_object_get(site, "site"));
	double truth = json_number_value(json_object_get(site, "bytes"));
	struct th_figure figure = th_recording_site(recording, "java", name, "alloc_bytes");

	print_message(
		"%-28s %12.0f: %12.0f [%12.0f, %12.0f] %6.0f samples, %.3f of the truth\n",
		name, truth, figure.estimate, figure.low, figure.high, figure.samples,
		figure.estimate / truth);
	th_assert_covers(&figure, truth, name);
}

static void
check_mix(const struct th_jdk *jdk, const struct mix *mix)
{
	struct th_recording recording;

	record(jdk, mix, &recording);
	print_message("%s, %s, %s threads: %.0f early calls, %.0f passed over\n",
		mix->options[0], mix->scenario, mix->threads,
		th_recording_counter(&recording, "java_early"),
		th_recording_counter(&recording, "java_missed"));
	for (size_t i = 0; i < json_array_size(recording.truth); i++) {
		const json_t *site = json_array_get(recording.truth, i);

		if (strcmp(json_string_value(json_object_get(site, "heap")), "java") == 0)
			check_site(&recording, site);
	}
	th_recording_check_sum(&recording);
	th_recording_deinit(&recording);
}

static void
each_size_has_its_share(const struct th_jdk *jdk)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if (i != WITH_Z || th_jdk_has_collector(jdk, "-XX:+UseZGC"))
			check_mix(jdk, &mixes[i]);
}

/* The samples are unbiased, so the report does not warn, nor are its intervals wider. */
static void
report_has_no_reservation(const struct th_jdk *jdk)
{
	struct th_recording recording;
	char *summary;

	record(jdk, &mixes[3], &recording);
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_null(strstr(summary, "approximate"));
	assert_null(strstr(summary, "JDK-8356372"));
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	free(summary);
	th_recording_deinit(&recording);
}

/* Without TLABs the field is not found, and the VM draws. */
static void
report_says_that_the_vm_draws(const struct th_jdk *jdk)
{
	static const struct mix mix = {
		{"-XX:-UseTLAB", "-XX:+UseG1GC"}, "1", "16M", "mix:1024,262144"};
	struct th_recording recording;
	char *summary;

	record(jdk, &mix, &recording);
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_int_equal(
		strstr(summary, "shares of them approximate") != NULL, jdk->feature < 25);
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	free(summary);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"each size has its share", each_size_has_its_share, 0},
		{"report has no reservation", report_has_no_reservation, 0},
		{"report says that the VM draws", report_says_that_the_vm_draws, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("mixes", tests);
}
