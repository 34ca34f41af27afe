/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are recorded depending on their lifetime: what is written of blocks that die soon, of
 * survivors, and of those that are freed while their sample is being written.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/recording/recorder_fixture.h"
#include "unify/recording/recorder.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/native.h"
#include "unify/sample/thread.h"
#include "unify/sample/undecided.h"
#include "unify/shared/clock.h"

#define LOG_BYTES (UINT64_C(64) << 20)
#define KEEP 0.125
#define THREADS 3
#define ROUNDS 20000

/* The log has the stack. */
static uint32_t in_log = 1;

static uintptr_t
address_of(uintptr_t number)
{
	return (uintptr_t)recorder_block(number);
}

/* A sample of a block, in the table of live blocks; 0: there was no room. */
static uint64_t
follow(uintptr_t number, bool is_kept)
{
	const struct th_undecided_sample sample = {
		.event = {.time = th_clock_now(),
			.size = 100,
			.keep = KEEP,
			.stack = 1,
			.address = address_of(number)},
		.use = &in_log,
		.is_kept = is_kept,
	};
	uint64_t word = th_undecided_add(&sample);

	if (!word)
		return 0;
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	if (!is_kept)
		th_log_count(TH_COUNTER_RATE_THINNED, 1);
	assert_true(th_live_blocks_insert(sample.event.address, word));
	th_undecided_begin(word);
	return word;
}

static void
release(uintptr_t number)
{
	recorder_release(recorder_block(number));
}

static void
pass_time(void)
{
	th_undecided_look(th_clock_now() + TH_UNDECIDED_NS);
}

static size_t
count(enum th_event_type type)
{
	struct log_image image;

	log_image_open(&image);
	size_t found = log_image_count(&image, type);
	log_image_close(&image);
	return found;
}

static double
keep_of(size_t n)
{
	struct log_image image;

	log_image_open(&image);
	const struct th_event_native_alloc *event = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, n);
	double keep = event->keep;
	log_image_close(&image);
	return keep;
}

static int
start(void **state)
{
	(void)state;
	recorder_start(0, 16, LOG_BYTES);
	return 0;
}

static int
end(void **state)
{
	/* What is still open is decided before the counters have to add up. */
	th_undecided_settle();
	return recorder_tear_down(state);
}

static void
what_dies_soon_is_kept_as_drawn(void **state)
{
	(void)state;
	follow(1, true);
	follow(2, false);
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 0);
	release(1);
	release(2);
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	assert_int_equal(count(TH_EVENT_NATIVE_FREE), 1);
	assert_true(keep_of(0) == KEEP);
	assert_int_equal(th_undecided_count(), 0);
}

static void
survivors_are_always_kept(void **state)
{
	(void)state;
	follow(1, true);
	follow(2, false);
	th_undecided_look(th_clock_now());
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 0);
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 2);
	assert_true(keep_of(0) == 1);
	assert_true(keep_of(1) == 1);
	assert_int_equal(recorder_counter(TH_COUNTER_RATE_THINNED), 0);
	release(1);
	release(2);
	assert_int_equal(count(TH_EVENT_NATIVE_FREE), 2);
}

static void
what_is_alive_at_the_end_is_kept(void **state)
{
	(void)state;
	follow(1, false);
	th_guard_enter();
	th_recorder_end();
	th_guard_leave();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	assert_int_equal(recorder_counter(TH_COUNTER_RATE_THINNED), 0);
}

/* A realloc that fails puts the block back, with its word. */
static void
a_block_that_was_put_back(void **state)
{
	(void)state;
	follow(1, false);
	uint64_t word = th_native_unlink(recorder_block(1));
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 0);
	th_native_relink(recorder_block(1), word);
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	release(1);
	assert_int_equal(count(TH_EVENT_NATIVE_FREE), 1);
}

/* Its free was missed, and its address belongs to another block. */
static void
a_block_that_was_replaced(void **state)
{
	(void)state;
	follow(1, true);
	follow(1, true);
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	th_undecided_look(th_clock_now() + 100 * TH_UNDECIDED_NS);
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	assert_int_equal(th_undecided_count(), 0);
	assert_int_equal(recorder_counter(TH_COUNTER_DROPPED_STOPPED), 1);
}

static void
words_of_before_are_ignored(void **state)
{
	(void)state;
	uint64_t word = follow(1, true);
	th_log_count(TH_COUNTER_DROPPED_STOPPED, 1);
	th_undecided_reset();
	uint64_t other = 0;
	for (unsigned i = 0; i < TH_UNDECIDED_MAX && (other & 4095) != (word & 4095); i++) {
		other = follow(2, false);
		if ((other & 4095) != (word & 4095))
			release(2);
	}
	th_undecided_freed(word, th_clock_now(), 1);
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 0);
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), 1);
	release(2);
}

static void
no_room(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i < TH_UNDECIDED_MAX; i++)
		assert_true(follow(i, false));
	assert_false(follow(TH_UNDECIDED_MAX, false));
	pass_time();
	assert_int_equal(count(TH_EVENT_NATIVE_ALLOC), TH_UNDECIDED_MAX);
	assert_true(follow(TH_UNDECIDED_MAX, false));
}

/* Threads free blocks while others are being written. */

static uint32_t running; /* atomic */

static void *
churn(void *argument)
{
	uintptr_t base = *(const uintptr_t *)argument * ROUNDS;

	th_guard_enter();
	for (uintptr_t i = 0; i < ROUNDS; i++) {
		if (!follow(base + i, i % 3 == 0))
			continue;
		/* One in 100 stays. */
		if (i % 100)
			release(base + i);
	}
	th_guard_leave();
	__atomic_sub_fetch(&running, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

/* Each written sample whose block was freed has its free, and the others have none. */
static void
assert_ends_fit(void)
{
	struct log_image image;

	log_image_open(&image);
	size_t allocs = log_image_count(&image, TH_EVENT_NATIVE_ALLOC);
	size_t frees = log_image_count(&image, TH_EVENT_NATIVE_FREE);
	log_image_close(&image);
	print_message("%zu samples, %zu freed, %lu in the table\n", allocs, frees,
		(unsigned long)th_live_blocks_count());
	assert_int_equal(allocs - frees, th_live_blocks_count());
}

static void
freed_while_written(void **state)
{
	pthread_t threads[THREADS];
	uintptr_t numbers[THREADS];

	(void)state;
	running = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &numbers[i]), 0);
	}
	th_guard_enter();
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		th_undecided_settle();
	th_guard_leave();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	th_undecided_settle();
	assert_int_equal(th_undecided_count(), 0);
	assert_ends_fit();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_dies_soon_is_kept_as_drawn, start, end),
		cmocka_unit_test_setup_teardown(survivors_are_always_kept, start, end),
		cmocka_unit_test_setup_teardown(what_is_alive_at_the_end_is_kept, start, end),
		cmocka_unit_test_setup_teardown(a_block_that_was_put_back, start, end),
		cmocka_unit_test_setup_teardown(a_block_that_was_replaced, start, end),
		cmocka_unit_test_setup_teardown(words_of_before_are_ignored, start, end),
		cmocka_unit_test_setup_teardown(no_room, start, end),
		cmocka_unit_test_setup_teardown(freed_while_written, start, end),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("undecided", tests, NULL, NULL);
}
