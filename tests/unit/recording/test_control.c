/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of the control page: valid requests are executed once, logged and
 * answered; invalid ones are refused and change nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "report/log/recording.h"
#include "tests/unit/log/log_fixture.h"
#include "unify/log/log.h"
#include "unify/recording/control.h"
#include "unify/sample/admission.h"
#include "unify/sample/throttle.h"

#define NOW 1000000000u
#define INTERVAL 524288
#define TARGET 300

static struct th_log_control *
page(void)
{
	return &th_log_header()->control;
}

static int
set_up(void **state)
{
	(void)state;
	log_fixture_open(8 << 20);
	th_log_header()->start_monotonic = 0; /* NOW is later */
	th_throttle_start(&(const struct th_plan_limits){
		.interval = INTERVAL, .least_interval = INTERVAL, .rate = TARGET});
	return 0;
}

static uint32_t
ask(uint32_t verb, uint64_t value, const char *name)
{
	struct th_log_control *control = page();
	uint32_t number = control->asked + 1;

	control->verb = verb;
	control->value = value;
	memset(control->name, 0, sizeof(control->name));
	memcpy(control->name, name, strlen(name));
	control->asked = number;
	th_control_poll(NOW);
	assert_int_equal(control->served, number);
	return control->answer;
}

static void
settings_change(void **state)
{
	(void)state;
	assert_int_equal(ask(TH_CONTROL_INTERVAL, 65536, ""), TH_CONTROL_DONE);
	assert_int_equal(th_throttle_interval(TH_HEAP_NATIVE), 65536);
	assert_int_equal(th_log_header()->interval, 65536);
	assert_int_equal(page()->interval, 65536);
	assert_int_equal(ask(TH_CONTROL_RATE, 50, ""), TH_CONTROL_DONE);
	assert_true(th_throttle_is_adaptive());
	assert_int_equal(th_log_header()->rate, 50);
	assert_int_equal(ask(TH_CONTROL_RATE, 0, ""), TH_CONTROL_DONE);
	assert_false(th_throttle_is_adaptive());
	assert_int_equal(th_log_header()->rate, 0);
}

static void
nonsense_is_refused(void **state)
{
	uint64_t tail = th_log_header()->tail;
	uint64_t rate = th_log_header()->rate;

	(void)state;
	assert_int_equal(
		ask(TH_CONTROL_INTERVAL, (uint64_t)INT32_MAX + 1, ""), TH_CONTROL_REFUSED);
	assert_int_equal(ask(TH_CONTROL_RATE, UINT64_MAX, ""), TH_CONTROL_REFUSED);
	assert_int_equal(ask(TH_CONTROL_MARK, 0, ""), TH_CONTROL_REFUSED);
	assert_int_equal(ask(77, 1, "x"), TH_CONTROL_UNKNOWN);
	assert_int_equal(th_throttle_interval(TH_HEAP_NATIVE), INTERVAL);
	assert_true(th_throttle_is_adaptive());
	assert_int_equal(th_log_header()->rate, rate);
	assert_int_equal(th_log_header()->tail, tail);
}

/* Heaps whose functions are not intercepted; the sampled heaps do not change. */
static void
unseen_heaps_are_refused(void **state)
{
	const uint32_t java = 1u << TH_HEAP_JAVA;
	uint64_t tail;

	(void)state;
	th_control_begin(java, java);
	tail = th_log_header()->tail;
	assert_int_equal(ask(TH_CONTROL_HEAPS, TH_HEAPS_BOTH, ""), TH_CONTROL_UNSEEN);
	assert_int_equal(ask(TH_CONTROL_HEAPS, 1u << TH_HEAP_MAPPED, ""), TH_CONTROL_UNSEEN);
	assert_int_equal(th_log_header()->heaps, java);
	assert_false(th_admission_wants(TH_HEAP_NATIVE));
	assert_int_equal(th_log_header()->tail, tail);
	assert_int_equal(ask(TH_CONTROL_HEAPS, java, ""), TH_CONTROL_DONE);
	th_control_begin(java, TH_HEAPS_ALL);
	assert_int_equal(ask(TH_CONTROL_HEAPS, TH_HEAPS_ALL, ""), TH_CONTROL_DONE);
}

/* Executed once, however often the page is polled. */
static void
requests_are_done_once(void **state)
{
	uint64_t tail;

	(void)state;
	assert_int_equal(ask(TH_CONTROL_MARK, 0, "deploy"), TH_CONTROL_DONE);
	tail = th_log_header()->tail;
	for (int i = 0; i < 5; i++)
		th_control_poll(NOW + 1);
	assert_int_equal(th_log_header()->tail, tail);
}

/* The tool finds the marks; a name without terminator is cut. */
static void
marks_are_found(void **state)
{
	char name[TH_CONTROL_NAME_MAX + 1];
	struct th_recording *recording;
	uint64_t time;

	(void)state;
	assert_int_equal(ask(TH_CONTROL_MARK, 0, "deploy"), TH_CONTROL_DONE);
	memset(name, 'x', sizeof(name));
	name[TH_CONTROL_NAME_MAX] = '\0';
	assert_int_equal(ask(TH_CONTROL_MARK, 0, name), TH_CONTROL_DONE);
	assert_null(th_recording_load(log_fixture_path(), &recording));
	assert_true(th_recording_find_mark(recording, "deploy", &time));
	assert_int_equal(time, NOW);
	assert_false(th_recording_find_mark(recording, "deplo", &time));
	assert_false(th_recording_find_mark(recording, name, &time));
	name[TH_CONTROL_NAME_MAX - 1] = '\0';
	assert_true(th_recording_find_mark(recording, name, &time));
	assert_int_equal(recording->unknown, 0);
	th_recording_destroy(recording);
}

static unsigned flushes;

static void
count_flush(void)
{
	flushes++;
}

static const struct th_control_java flushed = {.flush = count_flush};

static void
flush_calls_the_agent(void **state)
{
	(void)state;
	th_control_reset();
	th_control_set_java(&flushed);
	assert_int_equal(ask(TH_CONTROL_FLUSH, 0, ""), TH_CONTROL_DONE);
	assert_int_equal(flushes, 1);
	th_control_reset();
	assert_int_equal(ask(TH_CONTROL_FLUSH, 0, ""), TH_CONTROL_DONE);
	assert_int_equal(flushes, 1);
}

static unsigned counts;
static enum th_control_answer count_answer;

static enum th_control_answer
count_buffers(void)
{
	/* The requester can see that its request is being served. */
	assert_int_equal(page()->begun, page()->asked);
	assert_int_not_equal(page()->served, page()->asked);
	counts++;
	return count_answer;
}

/* A successful count is followed by a breakdown, a failed one is not. */
static void
buffers_are_counted_by_the_agent(void **state)
{
	(void)state;
	flushes = 0;
	th_control_reset();
	assert_int_equal(ask(TH_CONTROL_BUFFERS, 0, ""), TH_CONTROL_NO_VM);
	th_control_set_java(&(const struct th_control_java){
		.flush = count_flush, .count_buffers = count_buffers});
	count_answer = TH_CONTROL_FAILED;
	assert_int_equal(ask(TH_CONTROL_BUFFERS, 0, ""), TH_CONTROL_FAILED);
	assert_int_equal(counts, 1);
	assert_int_equal(flushes, 0);
	count_answer = TH_CONTROL_DONE;
	assert_int_equal(ask(TH_CONTROL_BUFFERS, 0, ""), TH_CONTROL_DONE);
	assert_int_equal(counts, 2);
	assert_int_equal(flushes, 1);
	th_control_set_java(NULL);
	assert_int_equal(ask(TH_CONTROL_BUFFERS, 0, ""), TH_CONTROL_NO_VM);
	th_control_reset();
}

static enum th_control_answer
collect(void)
{
	assert_int_equal(flushes, 0);
	assert_int_equal(page()->begun, page()->asked);
	return count_answer;
}

/* What the collection found is flushed, also after one that the VM has not done. */
static void
collections_are_done_by_the_agent(void **state)
{
	(void)state;
	th_control_reset();
	assert_int_equal(ask(TH_CONTROL_COLLECT, 0, ""), TH_CONTROL_NO_VM);
	th_control_set_java(
		&(const struct th_control_java){.flush = count_flush, .collect = collect});
	for (int i = 0; i < 2; i++) {
		flushes = 0;
		count_answer = i ? TH_CONTROL_FAILED : TH_CONTROL_DONE;
		assert_int_equal(ask(TH_CONTROL_COLLECT, 0, ""), count_answer);
		assert_int_equal(flushes, 1);
	}
	th_control_reset();
}

/* Without a log there is nothing to poll. */
static void
no_log(void **state)
{
	(void)state;
	log_fixture_detach();
	th_control_poll(NOW);
	assert_int_equal(th_throttle_interval(TH_HEAP_NATIVE), INTERVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(settings_change, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			nonsense_is_refused, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			unseen_heaps_are_refused, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			requests_are_done_once, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(marks_are_found, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			flush_calls_the_agent, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			buffers_are_counted_by_the_agent, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(
			collections_are_done_by_the_agent, set_up, log_fixture_teardown),
		cmocka_unit_test_setup_teardown(no_log, set_up, log_fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
