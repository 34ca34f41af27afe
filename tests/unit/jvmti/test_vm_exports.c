/* SPDX-License-Identifier: Apache-2.0 */
/* The use of a Java heap that is resized while it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/vm/vm_exports.h"

#define MIB ((jlong)1 << 20)

static jlong total;
static jlong used;
static int resizes; /* of the heap, each between a read of its size and one of what is free */

static jlong
total_memory(void)
{
	return total;
}

static jlong
free_memory(void)
{
	if (resizes > 0) {
		resizes--;
		total *= 2;
		used = MIB;
	}
	return total - used;
}

static bool
read_use(int times, uint64_t *committed_ret, uint64_t *used_ret)
{
	total = 4 * MIB;
	used = 3 * MIB;
	resizes = times;
	th_vm_functions.total_memory = total_memory;
	th_vm_functions.free_memory = free_memory;
	return th_vm_heap_use(committed_ret, used_ret);
}

static void
use_is_that_of_one_size(void **state)
{
	uint64_t committed, bytes;

	(void)state;
	assert_true(read_use(0, &committed, &bytes));
	assert_int_equal(committed, 4 * MIB);
	assert_int_equal(bytes, 3 * MIB);
	assert_true(read_use(3, &committed, &bytes));
	assert_int_equal(committed, 32 * MIB);
	assert_int_equal(bytes, MIB);
}

static void
use_of_a_heap_that_is_resized_all_the_time_is_not_known(void **state)
{
	uint64_t committed, bytes;

	(void)state;
	assert_false(read_use(40, &committed, &bytes));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(use_is_that_of_one_size),
		cmocka_unit_test(use_of_a_heap_that_is_resized_all_the_time_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
