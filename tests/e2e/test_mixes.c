/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small Java objects together with large ones, where HotSpot's own weights are up to 72 times
 * off before JDK 25 (JDK-8356372): an object that is the first of its TLAB is sampled nearly
 * always, those outside of TLABs too rarely.  The library corrects this; here each site is
 * compared with the truth, in the mixes in which the bias was found.
 */
#include "tests/e2e/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JDK 11 has a bias that cannot be corrected; the report says so. */
#define FIRST_TO_BE_HELD 17
/*
 * Remaining bias of HotSpot if many small TLABs coexist with many large objects: 8192 and
 * 131072 bytes in eight threads was 9 to 12 % too high on 17 and 21, with 2.5 % of chance.
 */
#define RESIDUE 0.2
#define OPTIONS_MAX 4

struct mix {
	const char *options[OPTIONS_MAX];
	const char *threads;
	const char *volume; /* bytes of the largest size that each thread allocates */
	const char *scenario;
};

static const struct mix mixes[] = {
	{{"-XX:+UseZGC", "-Xmx2g"}, "2", "1G", "mix:128,4096,300000"},
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
check_site(const struct th_jdk *jdk, const struct th_recording *recording, const json_t *site)
{
	const char *name = json_string_value(json_object_get(site, "site"));
	double truth = json_number_value(json_object_get(site, "bytes"));
	struct th_figure figure = th_recording_site(recording, "java", name, "alloc_bytes");

	print_message(
		"%-28s %12.0f: %12.0f [%12.0f, %12.0f] %6.0f samples, %.3f of the truth\n",
		name, truth, figure.estimate, figure.low, figure.high, figure.samples,
		figure.estimate / truth);
	if (jdk->feature < 25 && fabs(figure.estimate - truth) <= RESIDUE * truth)
		return;
	th_assert_covers(&figure, truth, name);
}

static void
check_mix(const struct th_jdk *jdk, const struct mix *mix)
{
	struct th_recording recording;

	record(jdk, mix, &recording);
	print_message("%s, %s, %s threads: %.0f samples left out\n", mix->options[0],
		mix->scenario, mix->threads, th_recording_counter(&recording, "java_thinned"));
	for (size_t i = 0; i < json_array_size(recording.truth); i++) {
		const json_t *site = json_array_get(recording.truth, i);

		if (strcmp(json_string_value(json_object_get(site, "heap")), "java") == 0)
			check_site(jdk, &recording, site);
	}
	th_recording_check_sum(&recording);
	th_recording_deinit(&recording);
}

static void
each_size_has_its_share(const struct th_jdk *jdk)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		check_mix(jdk, &mixes[i]);
}

/* The report's statement about the VM's sampler: none, corrected, or not correctable. */
static void
report_says_what_shares_are_worth(const struct th_jdk *jdk)
{
	struct th_recording recording;
	char *summary;

	record(jdk, &mixes[3], &recording);
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_int_equal(
		strstr(summary, "shares of them approximate") != NULL, jdk->feature < 17);
	assert_int_equal(strstr(summary, "(JDK-8356372) is corrected") != NULL,
		jdk->feature >= 17 && jdk->feature < 25);
	/* Totals are correct in either case. */
	th_recording_load(&recording);
	assert_true(th_recording_total(&recording, "java", "alloc_bytes").exact);
	free(summary);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"each size has its share", each_size_has_its_share, FIRST_TO_BE_HELD},
		{"report says what shares are worth", report_says_what_shares_are_worth, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("mixes", tests);
}
