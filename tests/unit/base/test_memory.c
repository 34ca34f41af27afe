/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is used again is zero, whatever the kernel makes of the request to discard it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sys/syscall.h>

#include "tests/unit/base/call_filter.h"
#include "unify/base/memory.h"

#define BYTES (64 << 10)

/* 0: a retired table is used again, and is zero. */
static int
use_again(void)
{
	unsigned char *first = th_memory_map(BYTES);
	unsigned char *second;

	memset(first, 0xa5, BYTES);
	th_memory_retire(first);
	second = th_memory_map(BYTES);
	if (second != first)
		return 1;
	for (size_t i = 0; i < BYTES; i++)
		if (second[i])
			return 2;
	return 0;
}

static void
run(void *data)
{
	(void)data;
	_exit(use_again());
}

static void
test_discarded(void **state)
{
	(void)state;
	assert_int_equal(use_again(), 0);
}

static void
test_refused(void **state)
{
	(void)state;
	assert_int_equal(call_filter_run(SYS_madvise, CALL_FAILS(EINVAL), run, NULL), 0);
}

/* Some emulators return success and do nothing. */
static void
test_ignored(void **state)
{
	(void)state;
	assert_int_equal(call_filter_run(SYS_madvise, CALL_IGNORED, run, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_discarded),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ignored),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
