/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TWINHEAP_UNWINDER=libunwind: the same native stacks; where libunwind is not available, our
 * own unwinder and one message.  Stacks with Java frames: test_stacks.
 */
#include "tests/e2e/dump.h"
#include "tests/e2e/harness.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name

static void
record(const char *const *command, const char *unwinder, const char *further,
	struct th_recording *ret)
{
	th_recording_run(
		&(struct th_recording_plan){
			.arguments = command,
			.settings = TH_WORDS("TWINHEAP_INTERVAL=0", "TWINHEAP_FOLLOW=all",
				unwinder, further),
		},
		ret);
}

/* Whether the log names `unwinder` as the unwinder of native stacks. */
static bool
walked_by(const char *log, const char *unwinder)
{
	struct th_dump dump;
	bool found = false;

	th_dump_init(&dump, log);
	while (!found && th_dump_next(&dump, "setting"))
		found = th_dump_has_text(&dump, "name", "TWINHEAP_UNWINDER") &&
			th_dump_has_text(&dump, "value", unwinder);
	th_dump_deinit(&dump);
	return found;
}

static char *
stacks_of(const struct th_recording *recording)
{
	return th_command_output(TH_WORDS(TH_TOOL, "export", recording->log, "--format",
		"collapsed", "--value", "alloc-objects"));
}

/* Deep stacks, fibers, signals on alternate stacks: every allocation, every frame. */
static void
same_native_stacks(void **state)
{
	struct th_recording ours, theirs;

	(void)state;
	record(TH_WORDS(PROGRAM("native_stacks")), "TWINHEAP_UNWINDER=own", NULL, &ours);
	record(TH_WORDS(PROGRAM("native_stacks")), "TWINHEAP_UNWINDER=libunwind", NULL,
		&theirs);
	assert_true(walked_by(ours.log, "own"));
	assert_true(walked_by(theirs.log, "libunwind"));
	char *our_stacks = stacks_of(&ours);
	char *their_stacks = stacks_of(&theirs);

	assert_non_null(strstr(our_stacks, "deep_site"));
	assert_string_equal(their_stacks, our_stacks);
	free(our_stacks);
	free(their_stacks);
	th_recording_deinit(&ours);
	th_recording_deinit(&theirs);
}

/* Found first, but not a library. */
static void
libunwind_that_cannot_be_loaded(void **state)
{
	const char *directory = th_temporary_directory();
	char *path = th_format("%s/libunwind.so.8", directory);
	char *search = th_format("LD_LIBRARY_PATH=%s", directory);
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	struct th_recording ours, recording;

	(void)state;
	assert_true(file >= 0);
	close(file);
	record(TH_WORDS(PROGRAM("native_stacks")), "TWINHEAP_UNWINDER=own", NULL, &ours);
	record(TH_WORDS(PROGRAM("native_stacks")), "TWINHEAP_UNWINDER=libunwind", search,
		&recording);
	assert_string_equal(recording.outcome.errors,
		"twinheap: libunwind.so.8 is missing or unusable: native stacks "
		"are walked by twinheap's own unwinder\n");
	assert_true(walked_by(recording.log, "own"));
	char *our_stacks = stacks_of(&ours);
	char *stacks = stacks_of(&recording);

	assert_string_equal(stacks, our_stacks);
	free(our_stacks);
	free(stacks);
	th_recording_deinit(&ours);
	th_recording_deinit(&recording);
	free(search);
	free(path);
}

/* Another thread may have held the loader's lock when it was forked. */
static void
forked_child_walks_by_itself(void **state)
{
	struct th_recording recording;
	size_t children = 0;

	(void)state;
	record(TH_WORDS(PROGRAM("process_children"), "fork"), "TWINHEAP_UNWINDER=libunwind",
		NULL, &recording);
	assert_true(walked_by(recording.log, "libunwind"));
	char *pattern = th_format("%s/*.thl", recording.directory);
	glob_t logs;

	assert_int_equal(glob(pattern, 0, NULL, &logs), 0);
	for (size_t i = 0; i < logs.gl_pathc; i++) {
		struct th_recording log = {.log = logs.gl_pathv[i]};

		if (th_recording_site(&log, "native", "child_site", "alloc_objects").estimate ==
			0)
			continue;
		children++;
		assert_true(walked_by(log.log, "own"));
	}
	assert_int_equal(children, 1);
	globfree(&logs);
	free(pattern);
	th_recording_deinit(&recording);
}

int
main(void)
{
#if defined(__x86_64__)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_native_stacks),
		cmocka_unit_test(libunwind_that_cannot_be_loaded),
		cmocka_unit_test(forked_child_walks_by_itself),
	};

	return cmocka_run_group_tests_name("unwinder", tests, NULL, NULL);
#else
	(void)same_native_stacks;
	(void)libunwind_that_cannot_be_loaded;
	(void)forked_child_walks_by_itself;
	return 0;
#endif
}
