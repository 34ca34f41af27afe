/* SPDX-License-Identifier: Apache-2.0 */
/* Where logs go if the current directory is read-only or another user's, as in many containers. */
#include "tests/e2e/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SITES TH_TEST_BUILD "/tests/programs/native_sites"
#define PRELOADED "LD_PRELOAD=" TH_LIBRARY " "

/* The directory becomes read-only, in a mount namespace of the script's own. */
#define READ_ONLY(directory) \
	"mount --bind " directory " " directory " && mount -o remount,ro,bind " directory "\n"

/* Runs a script in a new directory; it must succeed. */
static void
run(const char *script, const char *directory, struct th_outcome *ret)
{
	char *text = th_format("mkdir here temporary; cd here\n%s", script);

	th_command_check(
		&(struct th_command){.arguments = TH_WORDS("unshare", "--mount", "--pid",
					     "--fork", "--mount-proc", "sh", "-ec", text),
			.environment = TH_WORDS("LD_PRELOAD", "TWINHEAP_OUTPUT", "TMPDIR"),
			.directory = directory},
		ret);
	free(text);
}

static void
assert_lines(const char *text, size_t expected)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, expected);
}

/* The directory cannot be entered again by its path once it is covered, so: cd after mount. */
static void
read_only_directory(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run(READ_ONLY("$PWD") "cd $PWD; export TMPDIR=$PWD/../temporary\n"
			      "TWINHEAP_INTERVAL=0 " PRELOADED SITES " 1000 >/dev/null\n"
			      "ls $TMPDIR/twinheap.*.thl\n",
		th_temporary_directory(), &outcome);
	th_assert_contains(outcome.errors, "Read-only file system; recording to ");
	th_assert_contains(outcome.errors, "/temporary/twinheap.");
	assert_lines(outcome.errors, 1);
	th_outcome_deinit(&outcome);
}

static void
directory_of_another_user(void **state)
{
	const char *directory = th_temporary_directory();
	struct th_outcome outcome;

	(void)state;
	chmod(directory, 0755);
	run("cp " TH_LIBRARY " " SITES " /dev/shm/; chmod 755 /dev/shm/libtwinheap.so\n"
	    "mount -t tmpfs none /tmp 2>/dev/null || true; chmod 1777 /tmp\n"
	    "export TMPDIR=/nonexistent\n"
	    "trap 'rm -f /dev/shm/libtwinheap.so /dev/shm/native_sites' EXIT\n"
	    "cd /\n"
	    "setpriv --reuid=1234 --regid=1234 --clear-groups"
	    " env LD_PRELOAD=/dev/shm/libtwinheap.so /dev/shm/native_sites 1000 >/dev/null\n"
	    "ls /tmp/twinheap.*.thl\n",
		directory, &outcome);
	th_assert_contains(outcome.errors, "Permission denied; recording to /tmp/twinheap.");
	th_assert_contains(outcome.output, "/tmp/twinheap.");
	th_outcome_deinit(&outcome);
}

/* The program runs as without the library. */
static void
nowhere(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run(READ_ONLY("$PWD") READ_ONLY("/tmp") READ_ONLY(
		    "/dev/shm") "cd $PWD\n" PRELOADED SITES " 1000 >/dev/null; echo exit $?\n",
		th_temporary_directory(), &outcome);
	th_assert_contains(outcome.output, "exit 0\n");
	th_assert_contains(
		outcome.errors, "Read-only file system; this process is not recorded");
	assert_lines(outcome.errors, 1);
	th_outcome_deinit(&outcome);
}

static void
list_finds_it(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run(READ_ONLY("$PWD") "cd $PWD; export TMPDIR=$PWD/../temporary\n" PRELOADED
			      "TWINHEAP_VERBOSE=1 sleep 60 & pid=$!\n"
			      "for i in $(seq 100); do " TH_TOOL
			      " list | grep /temporary/ && break; sleep 0.1; done\nkill $pid\n",
		th_temporary_directory(), &outcome);
	th_assert_contains(outcome.output, "/temporary/twinheap.");
	th_outcome_deinit(&outcome);
}

static void
run_chooses_another_directory(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run(READ_ONLY("$PWD") "cd $PWD; export TMPDIR=$PWD/../temporary\n" TH_TOOL
			      " run -- " SITES " 8000000 >/dev/null; ls $TMPDIR\n"
			      "! " TH_TOOL " run -o x.thl -- " SITES " 1000\n",
		th_temporary_directory(), &outcome);
	th_assert_contains(outcome.errors,
		"the directory of the log is on a read-only file system; recording to ");
	th_assert_contains(outcome.output, "twinheap.");
	th_assert_contains(outcome.errors, "x.thl: the directory of the log");
	th_outcome_deinit(&outcome);
}

/* The first process of each container has the same id. */
static void
first_process_has_the_name_of_the_host(void **state)
{
	struct th_outcome outcome;

	(void)state;
	run("exec env " PRELOADED "sh -c '" SITES
	    " 1000 >/dev/null; ls twinheap.$(hostname).1.thl'\n",
		th_temporary_directory(), &outcome);
	th_assert_contains(outcome.output, ".1.thl");
	th_outcome_deinit(&outcome);
}

static void
options_of_an_agent_beside_the_preload(void **state)
{
	struct th_outcome outcome;

	(void)state;
	th_command_check(&(struct th_command){.arguments = TH_WORDS(th_jdk_newest()->java,
						      "-agentpath:" TH_LIBRARY "=interval=3",
						      "-version"),
				 .environment = TH_WORDS("LD_PRELOAD=" TH_LIBRARY),
				 .directory = th_temporary_directory()},
		&outcome);
	th_assert_contains(outcome.errors, "the options of -agentpath are ignored");
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_only_directory),
		cmocka_unit_test(directory_of_another_user),
		cmocka_unit_test(nowhere),
		cmocka_unit_test(list_finds_it),
		cmocka_unit_test(run_chooses_another_directory),
		cmocka_unit_test(first_process_has_the_name_of_the_host),
		cmocka_unit_test(options_of_an_agent_beside_the_preload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
