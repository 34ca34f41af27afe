/* SPDX-License-Identifier: Apache-2.0 */
/* A thread whose TLAB is being changed has no byte count, where one that is read in between would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvmti/threads/thread_bytes.h"
#include "unify/base/observed.h"

/* Offset 0 means that the VM does not export a field. */
struct thread {
	uint64_t unused;
	uint64_t bytes;
	uint64_t start;
	uint64_t top;
	uint64_t end;
};

static const struct th_hotspot hotspot = {
	.allocated_bytes = offsetof(struct thread, bytes),
	.tlab_start = offsetof(struct thread, start),
	.tlab_top = offsetof(struct thread, top),
	.tlab_end = offsetof(struct thread, end),
};

/* Other threads are read by process_vm_readv, which qemu-user has not. */
static bool
can_read_others(void)
{
	uint64_t word, from = 1;

	return th_observed_copy((uintptr_t)&from, &word, sizeof(word));
}

static bool
read_bytes(const struct thread *thread, uint64_t *bytes_ret)
{
	uint64_t others = 0;
	bool found = th_thread_bytes(&hotspot, (const char *)thread, bytes_ret);

	/* The same for a reader on another thread, which does not need the end. */
	if (!can_read_others())
		return found;
	if (thread->start <= thread->top) {
		assert_true(th_thread_bytes_of(&hotspot, (const char *)thread, &others));
		if (found)
			assert_int_equal(*bytes_ret, others);
	} else {
		assert_false(th_thread_bytes_of(&hotspot, (const char *)thread, &others));
	}
	return found;
}

static void
test_bytes(void **state)
{
	const struct thread thread = {0, 1000, 0x10000, 0x10040, 0x20000};
	const struct thread without_tlab = {0, 1000, 0, 0, 0};
	uint64_t bytes;

	(void)state;
	assert_true(read_bytes(&thread, &bytes));
	assert_int_equal(bytes, 1064);
	assert_true(read_bytes(&without_tlab, &bytes));
	assert_int_equal(bytes, 1000);
}

/* The states in which a collection that retires the TLAB may be stopped. */
static void
test_no_bytes_while_it_is_retired(void **state)
{
	const struct thread top_cleared = {0, 1000, 0x10000, 0, 0x20000};
	const struct thread end_cleared = {0, 1000, 0x10000, 0x10040, 0};
	const struct thread *const states[] = {&top_cleared, &end_cleared};
	uint64_t bytes = 77;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_false(read_bytes(states[i], &bytes));
	assert_int_equal(bytes, 77);
}

/* The end is needed only where it is exported. */
static void
test_without_end(void **state)
{
	const struct thread thread = {0, 1000, 0x10000, 0x10040, 0};
	struct th_hotspot without = hotspot;
	uint64_t bytes;

	(void)state;
	without.tlab_end = 0;
	assert_true(th_thread_bytes(&without, (const char *)&thread, &bytes));
	assert_int_equal(bytes, 1064);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_no_bytes_while_it_is_retired),
		cmocka_unit_test(test_without_end),
	};

	return cmocka_run_group_tests_name("thread_bytes", tests, NULL, NULL);
}
