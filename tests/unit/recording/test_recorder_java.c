/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joining Java frames to native ones, and the end of captures in progress.  The Java VM is
 * simulated by a provider whose "compiled code" is a function of this program.
 *
 * java_caller() calls compiled_code(), which calls java_callee(), which allocates.  The native
 * walk stops in compiled_code(); the provider returns the Java frames there, and that the
 * native frames continue in java_caller().
 */
#include "tests/unit/recording/recorder_fixture.h"

#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uintptr_t code_low, code_high;
static enum th_java_status java_answer;
static struct th_registers java_caller_registers;
static unsigned walks; /* atomic */

static NOINLINE void
java_callee(void)
{
	recorder_allocate(recorder_block(7), 100);
	STAY();
}

/* Its call must be in its first 16 bytes, without instrumentation before it. */
static NOINLINE __attribute__((no_sanitize("thread"))) void
compiled_code(void)
{
	java_callee();
	STAY();
}

static NOINLINE void
java_caller(void)
{
	th_registers_here(&java_caller_registers);
	compiled_code();
	STAY();
}

static enum th_java_status
walk(struct th_java_stack *stack)
{
	__atomic_fetch_add(&walks, 1, __ATOMIC_RELAXED);
	/* Allocations of the VM during the walk are not the program's. */
	recorder_allocate(recorder_block(8), 1 << 20);
	if (java_answer != TH_JAVA_FOUND)
		return java_answer;
	for (uint32_t i = 0; i < 3; i++)
		stack->frames[i] = th_frame_java(100 + i, i);
	stack->count = 3;
	stack->segment_count = 1;
	stack->segments[0] = (struct th_java_segment){
		.begin = 0, .end = 3, .has_native = true, .native = java_caller_registers};
	return TH_JAVA_FOUND;
}

static const struct th_java_provider provider = {
	.code_low = &code_low, .code_high = &code_high, .walk = walk};

static void
start_java(enum th_java_status answer, uint32_t depth)
{
	recorder_start(0, depth, LARGE);
	code_low = (uintptr_t)compiled_code;
	code_high = code_low + 16;
	/* A call of 5 bytes after at most 4 of set-up: the return address is in these 16. */
	java_answer = answer;
	walks = 0;
	th_capture_set_java(&provider);
}

static int
tear_down_java(void **state)
{
	th_capture_set_java(NULL);
	return recorder_tear_down(state);
}

static void
test_java_frames_between_native_ones(void **state)
{
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	start_java(TH_JAVA_FOUND, DEPTH);
	java_caller();
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), 1);
	const struct th_event_native_alloc *event = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, 0);
	assert_true(recorder_frames(&image, event->stack, &frames, &flags) >= 9);
	assert_int_equal(flags, 0);
	assert_true(recorder_is_in(
		&image, frames[1], (const void *)(uintptr_t)recorder_allocate, 128));
	assert_true(
		recorder_is_in(&image, frames[2], (const void *)(uintptr_t)java_callee, 64));
	for (uint32_t i = 0; i < 3; i++)
		assert_true(frames[3 + i] == th_frame_java(100 + i, i));
	assert_true(
		recorder_is_in(&image, frames[6], (const void *)(uintptr_t)java_caller, 256));
	assert_true(recorder_is_in(&image, frames[7],
		(const void *)(uintptr_t)test_java_frames_between_native_ones, 4096));
	assert_int_equal(walks, 1);
	assert_int_equal(recorder_counter(TH_COUNTER_JAVA_STACK_BELOW), 1);
	assert_int_equal(recorder_counter(TH_COUNTER_JAVA_STACK_FOUND), 1);
	log_image_close(&image);
}

/* A stack without Java frames never calls the provider. */
static void
test_no_java_below(void **state)
{
	(void)state;
	start_java(TH_JAVA_FOUND, DEPTH);
	java_callee();
	assert_int_equal(walks, 0);
	assert_int_equal(recorder_counter(TH_COUNTER_JAVA_STACK_BELOW), 0);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
}

/* The frames of the first sample's stack. */
static uint32_t
first_frames(const struct log_image *image, const uint64_t **frames_ret, uint32_t *flags_ret)
{
	const struct th_event_native_alloc *event = log_image_get(
		image, TH_EVENT_NATIVE_ALLOC, 0);

	return recorder_frames(image, event->stack, frames_ret, flags_ret);
}

/* Each status has its counter, and the stack has a flag that its Java frames are missing. */
static void
test_java_frames_that_cannot_be_had(void **state)
{
	static const struct {
		enum th_java_status answer;
		enum th_log_counter counter;
	} cases[] = {{TH_JAVA_IN_JAVA, TH_COUNTER_JAVA_STACK_IN_JAVA},
		{TH_JAVA_FAILED, TH_COUNTER_JAVA_STACK_FAILED},
		{TH_JAVA_NONE, TH_COUNTER_JAVA_STACK_FAILED}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct log_image image;
		const uint64_t *frames;
		uint32_t flags;

		start_java(cases[i].answer, DEPTH);
		java_caller();
		assert_int_equal(recorder_counter(cases[i].counter), 1);
		assert_int_equal(recorder_counter(TH_COUNTER_JAVA_STACK_BELOW), 1);
		assert_int_equal(recorder_counter(TH_COUNTER_JAVA_STACK_FOUND), 0);
		log_image_open(&image);
		assert_int_equal(first_frames(&image, &frames, &flags), 3);
		assert_int_equal(flags, TH_STACK_NO_JAVA);
		log_image_close(&image);
		tear_down_java(NULL);
	}
}

/* The depth limits the whole stack, wherever the cut is. */
static void
test_depth_cuts_java_frames(void **state)
{
	(void)state;
	for (uint32_t depth = 4; depth <= 7; depth++) {
		struct log_image image;
		const uint64_t *frames;
		uint32_t flags;

		start_java(TH_JAVA_FOUND, depth);
		java_caller();
		log_image_open(&image);
		assert_int_equal(first_frames(&image, &frames, &flags), depth);
		assert_int_equal(flags, TH_STACK_TRUNCATED);
		log_image_close(&image);
		tear_down_java(NULL);
	}
}

/* Captures in flight */

#define CAPTURES 66
#define STOP_US 1200000
/* As in capture.c: maximum concurrent captures. */
#define SCRATCH_COUNT 64

static struct {
	uint32_t inside; /* atomic: number of waiting captures */
	uint32_t go;     /* atomic */
} gate;

static enum th_java_status
wait_inside(struct th_java_stack *stack)
{
	(void)stack;
	__atomic_fetch_add(&gate.inside, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&gate.go, __ATOMIC_SEQ_CST))
		usleep(100);
	__atomic_fetch_sub(&gate.inside, 1, __ATOMIC_SEQ_CST);
	return TH_JAVA_FAILED;
}

static const struct th_java_provider waiting_provider = {
	.code_low = &code_low, .code_high = &code_high, .walk = wait_inside};

static void *
capture_once(void *unused)
{
	(void)unused;
	compiled_code();
	return NULL;
}

static void
wait_for_captures(uint32_t count)
{
	while (__atomic_load_n(&gate.inside, __ATOMIC_SEQ_CST) != count)
		usleep(100);
}

static void
open_gate(void)
{
	__atomic_store_n(&gate.go, 1, __ATOMIC_SEQ_CST);
}

static void *
open_gate_soon(void *unused)
{
	(void)unused;
	usleep(50000);
	open_gate();
	return NULL;
}

/* With more concurrent captures than buffers, the rest are dropped and counted. */
static void
test_no_scratch(void **state)
{
	pthread_t threads[CAPTURES];

	(void)state;
	start_java(TH_JAVA_FOUND, DEPTH);
	memset(&gate, 0, sizeof(gate));
	th_capture_set_java(&waiting_provider);
	for (size_t i = 0; i < CAPTURES; i++) {
		pthread_create(&threads[i], NULL, capture_once, NULL);
		if (i < SCRATCH_COUNT)
			wait_for_captures((uint32_t)i + 1);
		else
			pthread_join(threads[i], NULL);
	}
	assert_int_equal(
		recorder_counter(TH_COUNTER_DROPPED_NO_SCRATCH), CAPTURES - SCRATCH_COUNT);
	open_gate();
	for (size_t i = 0; i < SCRATCH_COUNT; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), SCRATCH_COUNT);
}

/* The process is stopped for longer than the maximum wait, by the clock, and then continued. */
static void *
open_gate_after_a_stop(void *unused)
{
	pid_t waker = fork();

	if (waker == 0) {
		usleep(STOP_US);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	kill(getpid(), SIGSTOP);
	waitpid(waker, NULL, 0);
	return open_gate_soon(unused);
}

/* Runs `end` while a capture is inside the provider; it has to wait until that has left. */
static void
check_waits(void (*end)(void), void *(*open)(void *))
{
	pthread_t capture, opener;

	start_java(TH_JAVA_FOUND, DEPTH);
	memset(&gate, 0, sizeof(gate));
	th_capture_set_java(&waiting_provider);
	pthread_create(&capture, NULL, capture_once, NULL);
	wait_for_captures(1);
	pthread_create(&opener, NULL, open, NULL);
	end();
	assert_int_equal(gate.inside, 0);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
	pthread_join(capture, NULL);
	pthread_join(opener, NULL);
}

static void
take_provider_back(void)
{
	th_capture_set_java(NULL);
}

static void
test_stop_waits_for_captures(void **state)
{
	(void)state;
	check_waits(th_in_flight_close, open_gate_soon);
}

static void
test_stop_waits_while_the_process_is_stopped(void **state)
{
	(void)state;
	check_waits(th_in_flight_close, open_gate_after_a_stop);
}

static void
test_provider_is_not_used_once_taken_back(void **state)
{
	(void)state;
	check_waits(take_provider_back, open_gate_soon);
}

/* Resets the provider after each test. */
#define CASE(test) cmocka_unit_test_teardown(test, tear_down_java)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_java_frames_between_native_ones),
		CASE(test_no_java_below),
		CASE(test_java_frames_that_cannot_be_had),
		CASE(test_depth_cuts_java_frames),
		CASE(test_no_scratch),
		CASE(test_stop_waits_for_captures),
		CASE(test_stop_waits_while_the_process_is_stopped),
		CASE(test_provider_is_not_used_once_taken_back),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("recorder with Java", tests, NULL, NULL);
}
