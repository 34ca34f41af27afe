/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching to processes of other users and in other namespaces, as of containers.  As root only: the
 * namespaces are made with unshare and pivot_root, and tests are skipped where the machine forbids
 * that.  The build may be below /tmp.
 */
#include "tests/e2e/harness.h"

#include <stdlib.h>
#include <string.h>

#define PROGRAM(name) TH_TEST_BUILD "/tests/programs/" name

#define SKIPPED 77

/*
 * Runs a script of root, which starts $java; skipped where the machine does not allow what it needs.
 */
static void
as_root(const struct th_jdk *jdk, const char *script, struct th_outcome *ret)
{
	char *text = th_format(
		TH_JDK_IS_UP "java=%s\njar=" PROGRAM("programs.jar") "\n%s", jdk->java, script);

	th_command_script(text, ret);
	free(text);
	if (ret->status == SKIPPED) {
		th_outcome_deinit(ret);
		skip();
	}
}

/*
 * In another pid and mount namespace, where the library's directory does not exist: it gets a copy,
 * which is removed, and the log is in the process's current directory.
 */
static void
other_namespaces(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	as_root(jdk,
		"unshare --mount --pid --fork true 2>/dev/null || exit 77\n"
		"unshare --mount --pid --fork sh -c '\n"
		"mount -t proc proc /proc; mount --bind " TH_TEST_BUILD " /mnt\n"
		"mount -t tmpfs none /tmp; mkdir /tmp/here\n"
		"cp /mnt/tests/programs/programs.jar /tmp/here/p.jar; cd /tmp/here; umount "
		"/mnt\n"
		"mount -t tmpfs none " TH_TEST_BUILD "\n"
		"exec '$java' -Dnamespaces=$$ -cp p.jar Attached leak' >out 2>err &\n"
		"top=$!; sleep 1.5\n"
		"pid=$(cat /proc/$top/task/$top/children); pid=${pid% }\n" TH_TOOL
		" list | grep \"^ *$pid \"\n" TH_TOOL
		" attach $pid -i 16k >line; echo attach $?\n"
		"sleep 2; cat line\n" TH_TOOL " list | grep \"^ *$pid \"\n" TH_TOOL
		" detach $pid; echo detach $?\n"
		"ls /proc/$pid/root/tmp | grep -c libtwinheap\n" TH_TOOL
		" leaks /proc/$pid/root/tmp/here/twinheap.*.1.thl\n"
		"kill $pid; wait $top; true\n",
		&outcome);
	th_assert_contains(outcome.output, "  attachable  ");
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "  attached    all ");
	th_assert_contains(outcome.output, "detach 0\n");
	th_assert_contains(outcome.output, "/root/tmp/here/twinheap.");
	th_assert_contains(outcome.output, ".1.thl\n");
	th_assert_contains(outcome.output, "\n0\n");
	th_assert_contains(outcome.output, "Attached.leak");
	th_outcome_deinit(&outcome);
}

/* Root attaches to any user's process; another user is refused. */
static void
other_users(const struct th_jdk *jdk)
{
	struct th_outcome outcome;

	as_root(jdk,
		"unshare --mount true 2>/dev/null || exit 77\n"
		"cat >inner <<EOF\n"
		"java=$java; jar=$jar\n"
		"EOF\n"
		"cat >>inner <<'EOF'\n"
		"mount --bind " TH_TEST_BUILD " /mnt; mount -t tmpfs -o mode=1777 none /tmp\n"
		"mkdir -p " TH_TEST_BUILD "; mount --bind /mnt " TH_TEST_BUILD "\n"
		"mkdir /tmp/here; cd /tmp/here\n"
		"as='setpriv --reuid 1234 --regid 1234 --clear-groups'\n"
		"mkdir open; chmod 777 open . && cp $jar open/p.jar && cp " TH_TOOL " tool\n"
		"chmod 755 tool; chmod 644 open/p.jar; (cd open && $as $java -version) "
		"2>/dev/null || exit 77\n"
		"(cd open && exec $as $java -cp p.jar Attached leak) >out 2>err &\n"
		"pid=$!; sleep 1.5\n" TH_TOOL " attach $pid -i 16k; echo attach $?\n"
		"sleep 1; " TH_TOOL
		" detach $pid >/dev/null; echo detach $?; kill $pid; wait $pid\n"
		"ls open\n"
		"$java -cp $jar Attached >/dev/null 2>&1 &\n"
		"pid=$!; sleep 1; $as ./tool attach $pid; echo other $?; kill $pid; wait $pid; "
		"true\n"
		"EOF\n"
		"unshare --mount sh inner\n",
		&outcome);
	th_assert_contains(outcome.output, "attach 0\n");
	th_assert_contains(outcome.output, "detach 0\n");
	th_assert_contains(outcome.output, ".thl\n");
	th_assert_contains(outcome.output, "other 10\n");
	th_assert_contains(outcome.errors, "belongs to another user");
	th_outcome_deinit(&outcome);
}

/*
 * A root directory that is read-only, with a /tmp that is not, entered by pivot_root.  The log
 * cannot be where the first attempt says; the second one does not say, and the log is in /tmp.
 */
static void
read_only_root(void **state)
{
	struct th_outcome outcome;

	(void)state;
	as_root(th_jdk_newest(),
		"mkdir new; unshare --mount --pid --fork true 2>/dev/null || exit 77\n"
		"unshare --mount --pid --fork sh -c '\n"
		"mount --rbind / new && mount -o remount,bind,ro new || exit 77\n"
		"mount -t proc proc new/proc; mount -t tmpfs none new/tmp\n"
		"mkdir new/tmp/old; cp '$jar' new/tmp/p.jar; cd new\n"
		"pivot_root . tmp/old || exit 77\n"
		"cd /; umount -l /tmp/old; ! touch /x 2>/dev/null || exit 77\n"
		"exec '$java' -cp /tmp/p.jar Attached leak' >out 2>err &\n"
		"top=$!\n"
		"until pid=$(cat /proc/$top/task/$top/children 2>/dev/null) &&\n"
		"\t[ \"$pid\" ] && is_up $pid 2>/dev/null; do\n"
		"\tkill -0 $top 2>/dev/null || { wait $top; exit; }\n"
		"\tsleep 0.05\n"
		"done\n"
		"sleep 0.5; pid=${pid% }\n" TH_TOOL
		" attach $pid -i 16k -o /missing/late.thl; echo first $?\n" TH_TOOL
		" attach $pid -i 16k; echo second $?\n"
		"sleep 2\n" TH_TOOL " detach $pid; echo detach $?\n"
		"cat err; ls /proc/$pid/root/tmp | grep -c libtwinheap\n" TH_TOOL
		" leaks /proc/$pid/root/tmp/twinheap.*.1.thl\n"
		"kill $pid; wait $top; true\n",
		&outcome);
	th_assert_contains(outcome.output, "first 2\n");
	th_assert_contains(outcome.errors, "the log cannot be created");
	th_assert_contains(outcome.output, "No such file or directory");
	th_assert_contains(outcome.output, "Read-only file system; recording to /tmp/");
	th_assert_contains(outcome.output, "second 0\n");
	th_assert_contains(outcome.output, "detach 0\n");
	th_assert_contains(outcome.output, "\n0\n");
	th_assert_contains(outcome.output, "Attached.leak");
	th_outcome_deinit(&outcome);
}

/*
 * Process 1 of its own user, mount and pid namespaces, root there and user 1234 outside: root and
 * that user attach.  Then its /tmp becomes unwritable before a socket is there.
 */
static void
user_namespace(void **state)
{
	struct th_outcome outcome;

	(void)state;
	as_root(th_jdk_newest(),
		"unshare --mount --user true 2>/dev/null || exit 77\n"
		"cp $jar p.jar\n"
		"cat >inner <<EOF\n"
		"mount -t tmpfs none /opt || exit 77\n"
		"mkdir /opt/jdk /opt/build /opt/here; chmod 777 /opt/here\n"
		"mount --bind ${java%/bin/java} /opt/jdk; cp p.jar " TH_TOOL " " TH_LIBRARY
		" /opt/build\n"
		"chmod 755 /opt/build/*; mount -t tmpfs -o mode=1777 none /tmp\n"
		"EOF\n"
		"cat >>inner <<'EOF'\n" TH_JDK_IS_UP
		"as='setpriv --reuid 1234 --regid 1234 --clear-groups'\n"
		"cd /opt/here; $as unshare --user --map-root-user true || exit 77\n"
		"$as /opt/jdk/bin/java -version 2>/dev/null || exit 77\n"
		"$as unshare --user --map-root-user --mount --pid --fork --mount-proc \\\n"
		"\t/opt/jdk/bin/java -cp /opt/build/p.jar Attached leak >out 2>err &\n"
		"top=$!\n"
		"until pid=$(cat /proc/$top/task/$top/children 2>/dev/null) &&\n"
		"\t[ \"$pid\" ] && is_up $pid 2>/dev/null; do\n"
		"\tkill -0 $top 2>/dev/null || exit 1\n"
		"\tsleep 0.05\n"
		"done\n"
		"sleep 0.5; pid=${pid% }\n"
		"chmod 755 /tmp; /opt/build/twinheap attach $pid; echo unwritable $?\n"
		"chmod 1777 /tmp\n"
		"/opt/build/twinheap attach $pid -i 16k -o /opt/here/root.thl; echo root $?\n"
		"sleep 1; /opt/build/twinheap detach $pid; echo detach $?\n"
		"$as /opt/build/twinheap attach $pid -i 16k; echo user $?\n"
		"sleep 2; $as /opt/build/twinheap detach $pid; echo detach $?\n"
		"/opt/build/twinheap leaks twinheap.*.1.thl\n"
		"kill $pid; wait $top; true\n"
		"EOF\n"
		"unshare --mount sh inner\n",
		&outcome);
	th_assert_contains(outcome.output, "unwritable 4\n");
	th_assert_contains(outcome.errors, "its VM needs a socket in its /tmp");
	th_assert_contains(outcome.output, "root 0\n");
	th_assert_contains(outcome.output, "detach 0\nprocess ");
	th_assert_contains(outcome.output, "user 0\n");
	th_assert_contains(outcome.output, "Attached.leak");
	th_outcome_deinit(&outcome);
}

int
main(void)
{
	const struct th_jdk_test tests[] = {
		{"other namespaces", other_namespaces, 0},
		{"other users", other_users, 0},
		{NULL, NULL, 0},
	};
	/* The kernel decides, not the VM: one JDK is enough. */
	const struct CMUnitTest others[] = {
		cmocka_unit_test(read_only_root),
		cmocka_unit_test(user_namespace),
	};

	return th_jdk_run_tests("attach across namespaces", tests) +
	       cmocka_run_group_tests_name("attach to containers", others, NULL, NULL);
}
