/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thinning by site on real stacks: one in 200 allocations of a method comes from another caller,
 * five calls above it, and none of them is inlined.  Samples of that path are kept while those of
 * the other are thinned out.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#include "tests/e2e/dump.h"

#define JAR TH_TEST_BUILD "/tests/programs/programs.jar"
#define ARRAY_BYTES 1016
/* Then the rates of the sites are known, and the burst of the budget is used. */
#define SETTLED_S 5
#define STACKS 4096
#define ATTEMPTS 4

struct path {
	unsigned samples;
	double due; /* estimate: sum of 1 / keep */
};

static double
fraction(const struct th_dump *dump, const char *field)
{
	const char *text = strstr(dump->line, field);

	assert_non_null(text);
	return atof(text + strlen(field));
}

static void
read_paths(const char *log, struct path *paths)
{
	struct th_dump dump;

	th_dump_init(&dump, log);
	while (th_dump_next(&dump, "java_alloc")) {
		uint64_t stack = th_dump_number(&dump, "stack");
		double keep = fraction(&dump, " keep=");

		if (fraction(&dump, " time=+") < SETTLED_S || stack >= STACKS ||
			th_dump_number(&dump, "size") != ARRAY_BYTES)
			continue;
		struct path *path = &paths[stack];
		path->samples++;
		path->due += 1 / keep;
	}
	th_dump_deinit(&dump);
}

/* The stack with most due samples, except that number; stacks are numbered from 1. */
static size_t
most_frequent(const struct path *paths, size_t except)
{
	size_t found = 0;

	for (size_t i = 0; i < STACKS; i++)
		if (i != except && paths[i].due > paths[found].due)
			found = i;
	return found;
}

static void
record(const struct th_jdk *jdk, struct path *paths)
{
	struct th_recording recording;

	memset(paths, 0, STACKS * sizeof(*paths));
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = TH_WORDS(jdk->java, "-XX:-Inline", "-Xmx256m", "-cp", JAR,
				"RarePath", "9"),
			/* The default budget, instead of the harness's rate. */
			.settings = TH_WORDS("TWINHEAP_RATE="),
		},
		&recording);
	read_paths(recording.log, paths);
	th_recording_deinit(&recording);
}

static void
is_kept(const struct th_jdk *jdk)
{
	static struct path paths[STACKS];
	const struct path *frequent = NULL;
	const struct path *rare = NULL;
	bool is_thinned = false;

	/* Most is thinned, or there is nothing to see: on a busy machine less is due. */
	for (int i = 0; i < ATTEMPTS && !is_thinned; i++) {
		record(jdk, paths);
		size_t first = most_frequent(paths, 0);
		frequent = &paths[first];
		rare = &paths[most_frequent(paths, first)];
		print_message("frequent: %u of %.0f, rare: %u of %.0f\n", frequent->samples,
			frequent->due, rare->samples, rare->due);
		assert_true(frequent->samples && rare->samples);
		is_thinned = frequent->samples < 0.4 * frequent->due;
	}
	assert_true(is_thinned);
	/* All but what is due at an update of the rates. */
	assert_true(rare->samples > 0.9 * rare->due);
}

int
main(void)
{
	static const struct th_jdk_test tests[] = {
		{"a rare path is kept", is_kept, 0},
		{NULL, NULL, 0},
	};

	return th_jdk_run_tests("rare_path", tests);
}
