/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ behind JNI, with every allocator, under VMs that contain a C++ runtime and under those
 * that do not: the same sites, the same figures.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIXED TH_TEST_BUILD "/examples/mixed"

/* Runs under `run` with these options; skipped if the allocator is not installed. */
static void
record(const struct th_jdk *jdk, const char *allocator, struct th_recording *ret)
{
	struct th_outcome outcome;

	th_command_run(
		&(struct th_command){.arguments = TH_WORDS(TH_TOOL, "run", "-q", "--allocator",
					     allocator, "-o", "/dev/null/x", "true")},
		&outcome);
	bool is_installed = !strstr(outcome.errors, "it is not installed");
	th_outcome_deinit(&outcome);
	if (!is_installed) {
		print_message("%s is not installed\n", allocator);
		skip();
	}
	memset(ret, 0, sizeof(*ret));
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(TH_TOOL, "run", "-q", "--allocator", allocator,
				"-i", "64k", "--", jdk->java, "-Djava.library.path=" MIXED,
				"-jar", MIXED "/mixed.jar", "--volume", "2M", "functions"),
			.settings = TH_WORDS("LD_PRELOAD", "TWINHEAP_SEED=1"),
		},
		ret);
	th_recording_load(ret);
}

static void
check_native_sites(const struct th_recording *recording)
{
	size_t checked = 0;

	assert_true(th_recording_total(recording, "native", "alloc_bytes").exact);
	for (size_t i = 0; i < json_array_size(recording->truth); i++) {
		const json_t *site = json_array_get(recording->truth, i);
		const char *name = json_string_value(json_object_get(site, "site"));

		if (strcmp(json_string_value(json_object_get(site, "heap")), "native") != 0)
			continue;
		struct th_figure figure = th_recording_site(
			recording, "native", name, "alloc_bytes");
		th_assert_covers(
			&figure, json_number_value(json_object_get(site, "bytes")), name);
		checked += strncmp(name, "mixed_new", 9) == 0;
	}
	assert_true(checked > 0);
}

static void
check_over(const struct th_jdk *jdk, const char *allocator)
{
	struct th_recording recording;
	char *summary;

	record(jdk, allocator, &recording);
	check_native_sites(&recording);
	summary = th_command_output(TH_WORDS(TH_TOOL, "summary", recording.log));
	assert_non_null(strstr(summary, "malloc is provided by "));
	assert_null(strstr(summary, "unseen"));
	free(summary);
	th_recording_deinit(&recording);
}

static void
over_jemalloc(const struct th_jdk *jdk)
{
	check_over(jdk, "jemalloc");
}

static void
over_tcmalloc(const struct th_jdk *jdk)
{
	check_over(jdk, "tcmalloc");
}

static void
over_mimalloc(const struct th_jdk *jdk)
{
	check_over(jdk, "mimalloc");
}

/*
 * LD_PRELOAD is inherited, but the allocator is missing: JNI libraries are bound to us
 * nevertheless.
 */
static void
over_libc(const struct th_jdk *jdk)
{
	struct th_recording recording;

	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.arguments = TH_WORDS("--volume", "2M", "functions"),
			.settings = TH_WORDS("LD_PRELOAD=" TH_LIBRARY ":" TH_TEST_BUILD
					     "/libtwinheap-new.so",
				"TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1"),
		},
		&recording);
	th_recording_load(&recording);
	check_native_sites(&recording);
	th_recording_deinit(&recording);
}

int
main(void)
{
	static const struct th_jdk_test tests[] = {
		{"over jemalloc", over_jemalloc, 0},
		{"over tcmalloc", over_tcmalloc, 0},
		{"over mimalloc", over_mimalloc, 0},
		{"over libc", over_libc, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("allocators_java", tests);
}
