/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server sleeps until it is woken, and no wake-up is lost.  Where one were lost, it would sleep
 * for FOREVER, and the test would be ended by its timeout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/base/call_filter.h"
#include "tests/unit/log/log_fixture.h"
#include "unify/base/atomic.h"
#include "unify/log/log.h"
#include "unify/recording/server.h"
#include "unify/shared/clock.h"

#define FOREVER (3600 * (uint64_t)TH_NS_PER_S)
#define ROUNDS 20000

static uint32_t sent;     /* atomic: work for the server */
static uint32_t received; /* atomic */

static int
set_up(void **state)
{
	(void)state;
	log_fixture_open(1 << 20);
	th_server_start();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	th_server_stop();
	return log_fixture_teardown(state);
}

static void
a_call_before_the_sleep_is_not_lost(void **state)
{
	(void)state;
	th_server_wake();
	th_server_sleep(th_clock_now() + FOREVER);
}

static void
the_time_may_be_over(void **state)
{
	(void)state;
	th_server_sleep(0);
	th_server_sleep(th_clock_now() + 1000);
}

/* Status 0: it has slept. */
static void
sleep_once(void *data)
{
	uint64_t begin = th_clock_now();

	(void)data;
	th_server_sleep(begin + FOREVER);
	_exit(th_clock_now() - begin < 10 * UINT64_C(1000000));
}

/* The server's thread would turn without a pause. */
static void
a_kernel_without_futexes(void **state)
{
	static const int errors[] = {ENOSYS, EPERM, EINVAL};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		assert_int_equal(
			call_filter_run(SYS_futex, CALL_FAILS(errors[i]), sleep_once, NULL), 0);
}

static void *
send(void *way)
{
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		th_store_release(&sent, i);
		if (way)
			th_server_wake_by(th_clock_now(), 0);
		else
			th_server_wake();
		while (th_load_acquire(&received) < i)
			if (way) /* it may be awake, or be woken too often */
				th_server_wake_by(th_clock_now(), 0);
	}
	return NULL;
}

static void
receive(void *way, uint32_t rounds)
{
	pthread_t sender;

	sent = received = 0;
	assert_int_equal(pthread_create(&sender, NULL, send, way), 0);
	while (th_load_acquire(&received) < rounds) {
		th_server_sleep(th_clock_now() + FOREVER);
		th_store_release(&received, th_load_acquire(&sent));
	}
	th_store_release(&received, ROUNDS);
	pthread_join(sender, NULL);
}

static void
each_call_wakes_it(void **state)
{
	(void)state;
	receive(NULL, ROUNDS);
}

/* At most one in 10 ms. */
static void
samples_wake_it_at_times(void **state)
{
	uint64_t begin = th_clock_now();

	(void)state;
	receive(&sent, 10);
	assert_true(th_clock_now() - begin >= 9 * UINT64_C(10000000));
}

static void
after_the_end_the_page_does_not_change(void **state)
{
	uint32_t calls = th_log_header()->control.calls;

	(void)state;
	th_server_wake();
	assert_int_equal(th_log_header()->control.calls, calls + 1);
	th_server_stop();
	th_server_wake();
	th_server_wake_by(th_clock_now(), 0);
	assert_int_equal(th_log_header()->control.calls, calls + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_call_before_the_sleep_is_not_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_time_may_be_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_kernel_without_futexes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_call_wakes_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_wake_it_at_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			after_the_end_the_page_does_not_change, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
