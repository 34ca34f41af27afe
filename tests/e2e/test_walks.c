/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java stacks of sampled objects, which come from AsyncGetCallTrace, are those of GetStackTrace,
 * frame by frame, on every JDK and however the VM runs the code (tests/walks).
 */
#include "tests/e2e/harness.h"

#include <stdio.h>

#define WALKS_LIBRARY TH_TEST_BUILD "/tests/walks/libtwinheap-walks.so"
#define PROGRAMS TH_TEST_BUILD "/tests/programs/programs.jar"
#define WALKED_MIN 1000
/* Share of the walks whose frames are remembered. */
#define REMEMBERED_SHARE 0.1
/* Share of the walks that GetStackTrace may have to repeat. */
#define REFUSED_SHARE 0.05
/* In interpreted code of 11 the walk ends early at method handles. */
#define REFUSED_SHARE_OLD 0.5
#define FIRST_WITHOUT_GAPS 17

struct walks {
	unsigned long long compared;
	unsigned long long different;
	unsigned long long refused;   /* GetStackTrace after AsyncGetCallTrace */
	unsigned long long not_asked; /* GetStackTrace alone */
	unsigned long long remembered;
};

static void
read_walks(const char *title, const char *directory, struct walks *ret)
{
	char *path = th_format("%s/walks", directory);
	char *text = th_command_output(TH_WORDS("cat", path));

	if (sscanf(text,
		    "%llu compared, %llu different, %llu refused, %llu not asked, "
		    "%llu remembered",
		    &ret->compared, &ret->different, &ret->refused, &ret->not_asked,
		    &ret->remembered) != 5)
		fail_msg("%s: %s", path, text);
	print_message("%s: %llu compared, %llu refused, %llu not asked, %llu remembered\n",
		title, ret->compared, ret->refused, ret->not_asked, ret->remembered);
	if (ret->different)
		fail_msg("%s: %s", title, text);
	free(path);
	free(text);
}

static void
walk(const struct th_jdk *jdk, const char *const *options, const char *cut, struct walks *ret)
{
	struct th_recording recording;
	const char *arguments[16] = {jdk->java, "-Xmx300m"};
	size_t count = 2;

	while (*options)
		arguments[count++] = *options++;
	arguments[count++] = "-cp";
	arguments[count++] = PROGRAMS;
	arguments[count++] = "Walks";
	arguments[count++] = "1";
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = arguments,
			.settings = TH_WORDS("LD_PRELOAD=" WALKS_LIBRARY, "WALKS=walks", cut,
				"TWINHEAP_HEAPS=java", "TWINHEAP_INTERVAL=16k",
				"TWINHEAP_OVERHEAD=0", "TWINHEAP_SEED=1"),
		},
		&recording);
	read_walks(options[-1], recording.directory, ret);
	th_recording_deinit(&recording);
}

static void
frames_are_the_same(const struct th_jdk *jdk)
{
	static const char *const modes[][4] = {
		{"-XX:+UseG1GC", NULL},
		{"-XX:+UseSerialGC", "-Xint", NULL},
		{"-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1", NULL},
		{"-XX:+UnlockExperimentalVMOptions", "-XX:-TieredCompilation", "-XX:+UseZGC",
			NULL},
	};
	double share = jdk->feature < FIRST_WITHOUT_GAPS ? REFUSED_SHARE_OLD : REFUSED_SHARE;
	struct walks walks;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		walk(jdk, modes[i], "WALKS_CUT", &walks);
		assert_true(walks.compared >= WALKED_MIN);
		assert_true((double)walks.refused <= share * (double)walks.compared);
		assert_true(
			(double)walks.remembered >= REMEMBERED_SHARE * (double)walks.compared);
	}
}

/* A walk that ended early is repeated by GetStackTrace. */
static void
short_walks_are_noticed(const struct th_jdk *jdk)
{
	struct walks walks;

	walk(jdk, TH_WORDS("-XX:+UseSerialGC"), "WALKS_CUT=1", &walks);
	assert_true(walks.compared >= WALKED_MIN);
	assert_true(walks.refused >= WALKED_MIN / 4);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"frames are the same", frames_are_the_same, 11},
		{"short walks are noticed", short_walks_are_noticed, 11},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("walks", tests);
}
