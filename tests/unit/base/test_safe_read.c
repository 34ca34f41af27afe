/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is called readable only if it is, on kernels that answer in another way than Linux does.
 * Each case runs this program again, below filters (tests/programs), because the way to ask is
 * chosen once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unify/base/safe_read.h"

#define REJECT TH_TEST_BUILD "/tests/programs/reject_masks"
#define FORBID TH_TEST_BUILD "/tests/programs/forbid_reading"
#define PAGES 3
/* Exit status of the filters: the kernel has none. */
#define NO_FILTER 77

static const char *own_path;

static bool
can_read(uintptr_t address, size_t bytes)
{
	struct th_safe_read memory;
	bool is_readable;

	th_safe_read_init(&memory, NULL);
	errno = ERANGE;
	is_readable = th_is_readable(&memory, address, bytes);
	assert_int_equal(errno, ERANGE);
	return is_readable;
}

/* Three pages, of which the second cannot be read. */
static uintptr_t
map_pages(void)
{
	char *start = mmap(
		NULL, PAGES * TH_PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(start, MAP_FAILED);
	assert_int_equal(mprotect(start + TH_PAGE_BYTES, TH_PAGE_BYTES, PROT_NONE), 0);
	return (uintptr_t)start;
}

static void
check_pages(bool works)
{
	uintptr_t start = map_pages();
	uintptr_t closed = start + TH_PAGE_BYTES;

	assert_int_equal(th_safe_read_works(), works);
	assert_int_equal(can_read(start, TH_PAGE_BYTES), works);
	assert_int_equal(can_read(closed + TH_PAGE_BYTES, 8), works);
	assert_false(can_read(closed, 1));
	assert_false(can_read(closed - 4, 8));
	assert_false(can_read(start, PAGES * TH_PAGE_BYTES));
	assert_false(can_read(0, 8));
	assert_false(can_read(UINTPTR_MAX - 15, 8));
}

static void
pages_are_told_apart(void **state)
{
	(void)state;
	check_pages(true);
}

static void
nothing_is_readable_without_an_answer(void **state)
{
	(void)state;
	check_pages(false);
}

/* What is known needs no answer: the page of the walk's own frame. */
static void
known_memory_stays_readable(void **state)
{
	struct th_safe_read memory;
	uintptr_t word;

	(void)state;
	th_safe_read_init(&memory, __builtin_frame_address(0));
	assert_true(th_read_word(
		&memory, th_align_down((uintptr_t)__builtin_frame_address(0), 8), &word));
}

static void
run_below(const char *filters, const char *part)
{
	char command[512];
	int status;

	if (getenv("TH_TEST_RUNNER"))
		skip(); /* qemu-user has no seccomp */
	snprintf(command, sizeof(command), "%s %s %s >&2", filters, own_path, part);
	status = system(command);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTER)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
a_kernel_that_rejects_how_first(void **state)
{
	(void)state;
	run_below(REJECT, "answered");
}

static void
one_that_also_forbids_copies(void **state)
{
	(void)state;
	run_below(REJECT " " FORBID, "unanswered");
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest answered[] = {
		cmocka_unit_test(pages_are_told_apart),
		cmocka_unit_test(known_memory_stays_readable),
	};
	const struct CMUnitTest unanswered[] = {
		cmocka_unit_test(nothing_is_readable_without_an_answer),
		cmocka_unit_test(known_memory_stays_readable),
	};
	const struct CMUnitTest other_kernels[] = {
		cmocka_unit_test(a_kernel_that_rejects_how_first),
		cmocka_unit_test(one_that_also_forbids_copies),
	};

	own_path = argv[0];
	if (argc > 1 && !strcmp(argv[1], "unanswered"))
		return cmocka_run_group_tests(unanswered, NULL, NULL);
	int failed = cmocka_run_group_tests(answered, NULL, NULL);
	if (argc > 1)
		return failed;
	return failed + cmocka_run_group_tests_name("other kernels", other_kernels, NULL, NULL);
}
