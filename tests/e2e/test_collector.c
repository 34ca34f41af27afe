/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following Java objects does not affect the two collectors that treat weak references as
 * strong in young collections: G1 for humongous objects, and generational Z for all young ones.
 * bench/services/run --collector measures the pauses of services.
 */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/recording.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define FIRST_WITH_Z_GENERATIONS 21
#define FIRST_WITH_Z_GENERATIONS_ALONE 24
/*
 * Occasional stalls on a busy machine; if followed objects were kept alive there would be
 * hundreds.
 */
#define STALLS_BY_CHANCE 20
/*
 * Objects besides the kept ones: the last eight arrays, and those dropped since the last
 * collection.
 */
#define OTHERS (UINT64_C(64) << 20)

static double
truth(const struct th_recording *recording, const char *name)
{
	return json_number_value(json_object_get(json_array_get(recording->truth, 0), name));
}

/*
 * 2,000 arrays of 1 MiB through a heap of 128 MiB.  G1 reclaims dropped ones in young
 * collections; if they were kept until marking, they would fill the heap and cause full
 * collections.  The report must show their deaths without a full collection.
 */
static void
humongous_arrays(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_figure kept;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:+UseG1GC", "-Xmx128m", "-cp", JAR,
				"Garbage", "arrays", "1048576", "2000"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=512k"),
		},
		&recording);
	th_recording_load(&recording);
	print_message("%g full collections\n", truth(&recording, "full"));
	assert_true(truth(&recording, "full") == 0);
	kept = th_recording_site(&recording, "java", "Garbage.keep", "live_bytes");
	th_assert_covers(&kept, truth(&recording, "kept"), "kept");
	kept = th_recording_total(&recording, "java", "live_bytes");
	if (kept.low > truth(&recording, "kept") + (double)OTHERS)
		fail_msg("%g bytes alive, %g kept", kept.low, truth(&recording, "kept"));
	th_recording_deinit(&recording);
}

static const char *
choice_of_z(const struct th_jdk *jdk)
{
	return jdk->feature >= FIRST_WITH_Z_GENERATIONS_ALONE ? "-XX:+UseZGC"
							      : "-XX:+ZGenerational";
}

static unsigned
count_stalls(const char *directory)
{
	char *command = th_format("grep -c 'Allocation Stall (' %s/gc.log || true", directory);
	char *text = th_command_output(TH_WORDS("sh", "-c", command));
	unsigned count = (unsigned)strtoul(text, NULL, 10);

	free(text);
	free(command);
	return count;
}

/*
 * Lists of 20,000 nodes that are dropped, through a heap of 256 MiB: each followed node keeps
 * the rest of its list alive.  The plain run has no stall.
 */
static void
dropped_lists(const struct th_jdk *jdk)
{
	struct th_recording recording;
	struct th_figure kept;
	unsigned stalls;

	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:+UseZGC", choice_of_z(jdk),
				"-Xmx256m", "-Xlog:gc:file=gc.log", "-cp", JAR, "Garbage",
				"lists", "8000"),
			.settings = TH_WORDS("TWINHEAP_INTERVAL=64k"),
		},
		&recording);
	stalls = count_stalls(recording.directory);
	print_message("%u stalls\n", stalls);
	assert_true(stalls <= STALLS_BY_CHANCE);
	th_recording_load(&recording);
	kept = th_recording_site(&recording, "java", "Garbage.keep", "live_bytes");
	print_message("kept %g, reported %g [%g, %g], %g samples\n", truth(&recording, "kept"),
		kept.estimate, kept.low, kept.high, kept.samples);
	th_assert_covers(&kept, truth(&recording, "kept"), "kept");
	kept = th_recording_site(&recording, "java", "Garbage.lists", "live_bytes");
	assert_true(kept.low <= truth(&recording, "kept") + (double)OTHERS);
	th_recording_deinit(&recording);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"humongous arrays", humongous_arrays, 0},
		{"dropped lists", dropped_lists, FIRST_WITH_Z_GENERATIONS},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("collector", tests);
}
