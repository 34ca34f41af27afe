/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual threads: the same code has the same stack in both heaps, from the virtual thread's
 * own first frame on, whichever carrier it ran on.
 */
#include "tests/e2e/harness.h"
#include "tests/e2e/stacks.h"

#include <stdio.h>

/* JDK 21 is the first release in which they are not a preview. */
#define FIRST_WITH_VIRTUAL_THREADS 21
#define ROOT "[virtual thread]"

static const char *const native_frames[] = {ROOT, "mixed.VirtualWork.run",
	"mixed.NativeSites.runSites", "Java_mixed_NativeSites_runSites", "mixed_malloc_1400",
	NULL};
static const char *const java_frames[] = {
	ROOT, "mixed.VirtualWork.run", "mixed.VirtualWork.array", NULL};

static const struct th_expected_stack stacks[] = {
	{"native", ROOT, "mixed_malloc_1400", NULL, native_frames},
	/* A class is initialized on the way, once. */
	{"java", ROOT, "mixed.VirtualWork.array", "mixed.JavaSites.<clinit>", java_frames},
	{NULL, NULL, NULL, NULL, NULL},
};

/* The root is the first frame: no frame of the carrier precedes it. */
static void
check_roots(const struct th_recording *recording)
{
	const json_t *list = json_object_get(recording->report, "stacks");
	size_t found = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *stack = json_array_get(list, i);
		const json_t *frames = json_object_get(stack, "frames");

		if (!th_stack_has_path(stack, TH_WORDS("mixed.VirtualWork.run")))
			continue;
		assert_string_equal(th_text_of(json_array_get(frames, 0), "name"), ROOT);
		found++;
	}
	assert_true(found >= 2);
}

static void
record(const struct th_jdk *jdk, const char *const *options)
{
	struct th_recording recording;

	th_recording_run_mixed(
		&(struct th_recording_plan){
			.jdk = jdk,
			.jvm_options = options,
			.arguments = TH_WORDS("--volume", "48M", "virtual"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k", "TWINHEAP_SEED=1"),
		},
		&recording);
	th_recording_load(&recording);
	th_recording_check_stacks(&recording, stacks);
	check_roots(&recording);
	th_recording_deinit(&recording);
}

static void
as_it_comes(const struct th_jdk *jdk)
{
	record(jdk, NULL);
}

static void
interpreted(const struct th_jdk *jdk)
{
	record(jdk, TH_WORDS("-Xint"));
}

static void
compiled(const struct th_jdk *jdk)
{
	record(jdk, TH_WORDS("-Xcomp", "-XX:-TieredCompilation", "-XX:CompileCommand=quiet",
			    "-XX:CompileCommand=compileonly,mixed.*::*"));
}

/* Few or many carriers: a virtual thread moves between them, or never can. */
static void
one_carrier(const struct th_jdk *jdk)
{
	record(jdk, TH_WORDS("-Djdk.virtualThreadScheduler.parallelism=1"));
}

static void
other_collectors(const struct th_jdk *jdk)
{
	record(jdk, TH_WORDS("-XX:+UseZGC"));
	record(jdk, TH_WORDS("-XX:+UseParallelGC"));
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"as it comes", as_it_comes, FIRST_WITH_VIRTUAL_THREADS},
		{"interpreted", interpreted, FIRST_WITH_VIRTUAL_THREADS},
		{"compiled", compiled, FIRST_WITH_VIRTUAL_THREADS},
		{"one carrier", one_carrier, FIRST_WITH_VIRTUAL_THREADS},
		{"other collectors", other_collectors, FIRST_WITH_VIRTUAL_THREADS},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("virtual", tests);
}
