/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups of both versions, in directories with the kernel's layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unify/resident/cgroup.h"

static char root[64];
static char text[TH_CGROUP_TEXT_MAX];

/* Writes a file below the root, and creates its directories. */
static void
put(const char *path, const char *contents)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(contents, file);
	fclose(file);
}

static struct th_cgroup
find(void)
{
	char process[128], hierarchy[128];
	struct th_cgroup group;

	snprintf(process, sizeof(process), "%s/proc", root);
	snprintf(hierarchy, sizeof(hierarchy), "%s/cgroup", root);
	th_cgroup_find_below(&group, process, hierarchy);
	return group;
}

static int
setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/twinheap-cgroup-XXXXXX");
	return !mkdtemp(root);
}

static int
teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void
test_version_2(void **state)
{
	(void)state;
	put("proc/cgroup", "0::/service/app\n");
	put("cgroup/service/app/memory.max", "max\n");
	put("cgroup/service/app/memory.current", "5000\n");
	put("cgroup/service/memory.max", "9000\n");
	put("cgroup/service/memory.current", "7000\n");
	put("cgroup/service/memory.stat", "anon 1\nfile 2\nkernel 3\n");
	struct th_cgroup group = find();
	struct th_event_cgroup use = th_cgroup_use(&group, text);
	/* The parent's limit is the tighter one. */
	assert_int_equal(group.version, 2);
	assert_int_equal(group.limit, 9000);
	assert_int_equal(use.current, 7000);
	assert_int_equal(use.anonymous, 1);
	assert_int_equal(use.file, 2);
	assert_int_equal(use.kernel, 3);
}

static void
test_version_1(void **state)
{
	(void)state;
	put("proc/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/box\n1:name=systemd:/\n0::/\n");
	put("cgroup/memory/box/memory.limit_in_bytes", "4096000\n");
	put("cgroup/memory/box/memory.usage_in_bytes", "1234\n");
	put("cgroup/memory/box/memory.stat", "cache 1\nrss 2\ntotal_cache 10\ntotal_rss 20\n");
	put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("cgroup/memory/memory.usage_in_bytes", "99999\n");
	struct th_cgroup group = find();
	struct th_event_cgroup use = th_cgroup_use(&group, text);
	assert_int_equal(group.version, 1);
	assert_int_equal(group.limit, 4096000);
	assert_int_equal(use.current, 1234);
	assert_int_equal(use.anonymous, 20);
	assert_int_equal(use.file, 10);
}

/* In a container the path is the host's; the mounted root is the group itself. */
static void
test_a_path_that_is_not_there(void **state)
{
	(void)state;
	put("proc/cgroup", "0::/docker/0123\n");
	put("cgroup/memory.max", "8192\n");
	put("cgroup/memory.current", "4096\n");
	struct th_cgroup group = find();
	assert_int_equal(group.version, 2);
	assert_int_equal(group.limit, 8192);
	assert_int_equal(th_cgroup_current(&group), 4096);
}

static void
test_no_group(void **state)
{
	(void)state;
	struct th_cgroup group = find();
	assert_int_equal(group.version, 0);
	assert_int_equal(th_cgroup_current(&group), 0);
	put("proc/cgroup", "no colon here\n");
	group = find();
	assert_int_equal(group.version, 0);
	put("proc/cgroup", "0::/\n");
	group = find();
	assert_int_equal(group.version, 0);
	assert_int_equal(th_cgroup_use(&group, text).current, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_version_2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_path_that_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_group, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
