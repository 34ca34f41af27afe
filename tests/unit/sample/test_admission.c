/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses and heaps: excluded allocations are neither sampled nor counted, to
 * the byte, and the others are estimated without bias, however often the settings change.
 * Requests come through the control page, as from the tool.
 */
#include "tests/unit/recording/recorder_fixture.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/prctl.h>

#include "tests/unit/sample/probability.h"
#include "unify/recording/control.h"
#include "unify/recording/housekeeping.h"
#include "unify/sample/admission.h"
#include "unify/sample/throttle.h"

#define INTERVAL 4096
#define BLOCK 200
/* Five standard deviations. */
#define SIGMAS 5
/* Also the interval of draws in pauses. */
#define LONG_INTERVAL 65536
#define TOGGLES 20000

static uint32_t
ask(uint32_t verb, uint64_t value, const char *name)
{
	struct th_log_control *control = &th_log_header()->control;

	control->verb = verb;
	control->value = value;
	strncpy(control->name, name, sizeof(control->name) - 1);
	control->asked++;
	th_guard_enter();
	th_housekeeping_run();
	th_guard_leave();
	assert_int_equal(control->served, control->asked);
	return control->answer;
}

static uint64_t
counted(void)
{
	return th_counted_bytes(th_thread.record, TH_HEAP_NATIVE, th_thread_native_bytes());
}

static void
allocate(unsigned blocks)
{
	for (uintptr_t i = 0; i < blocks; i++)
		recorder_allocate(recorder_block(i), BLOCK);
}

/* The estimate from the samples, and its variance. */
static double
estimate(double *variance_ret)
{
	struct log_image image;
	double sum = 0;

	*variance_ret = 0;
	log_image_open(&image);
	for (size_t i = 0; i < log_image_count(&image, TH_EVENT_NATIVE_ALLOC); i++) {
		const struct th_event_native_alloc *event = log_image_get(
			&image, TH_EVENT_NATIVE_ALLOC, i);
		double p = sampling_probability(event->size, event->interval);

		sum += (double)event->size / p;
		*variance_ret += (double)(event->size * event->size) * (1 - p) / (p * p);
		assert_true(event->thread_bytes >= event->size);
	}
	log_image_close(&image);
	return sum;
}

static void
assert_estimate(double truth)
{
	double variance;
	double sum = estimate(&variance);

	if (fabs(sum - truth) > SIGMAS * sqrt(variance))
		fail_msg("estimated %.0f +- %.0f, true %.0f", sum, sqrt(variance), truth);
}

static size_t
samples(void)
{
	return recorder_counter(TH_COUNTER_NATIVE_SAMPLES);
}

/* Pauses */

static void
what_a_pause_leaves_out(void **state)
{
	(void)state;
	recorder_start(INTERVAL, DEPTH, LARGE);
	allocate(10000);
	assert_int_equal(counted(), 10000 * BLOCK);
	assert_int_equal(ask(TH_CONTROL_PAUSE, 0, ""), TH_CONTROL_DONE);
	assert_int_equal(th_log_header()->paused, 1);
	size_t before = samples();
	allocate(20000);
	assert_int_equal(samples(), before);
	assert_int_equal(counted(), 10000 * BLOCK);
	assert_int_equal(ask(TH_CONTROL_RESUME, 0, ""), TH_CONTROL_DONE);
	assert_int_equal(th_log_header()->paused, 0);
	assert_int_equal(counted(), 10000 * BLOCK);
	allocate(30000);
	assert_true(samples() > before);
	assert_int_equal(counted(), 40000 * BLOCK);
	/* The log has all of it, and no more. */
	th_thread_log_bytes(false);
	struct log_image image;
	log_image_open(&image);
	size_t count = log_image_count(&image, TH_EVENT_THREAD_BYTES);
	if (count || !getenv("TH_TEST_RUNNER")) { /* qemu-user has no process_vm_readv */
		const struct th_event_thread_bytes *bytes = log_image_get(
			&image, TH_EVENT_THREAD_BYTES, count - 1);
		assert_int_equal(bytes->bytes, 40000 * BLOCK);
	}
	assert_int_equal(log_image_count(&image, TH_EVENT_CONTROL), 2);
	log_image_close(&image);
}

/* Pausing twice is the same as once. */
static void
pauses_do_not_nest(void **state)
{
	(void)state;
	recorder_start(INTERVAL, DEPTH, LARGE);
	allocate(100);
	ask(TH_CONTROL_PAUSE, 0, "");
	allocate(100);
	ask(TH_CONTROL_PAUSE, 0, "");
	allocate(100);
	ask(TH_CONTROL_RESUME, 0, "");
	ask(TH_CONTROL_RESUME, 0, "");
	allocate(100);
	assert_int_equal(counted(), 200 * BLOCK);
}

/*
 * Each phase is shorter than the mean gap between samples: a fresh draw at the start of each
 * phase, or a sample at once, would bias the estimate strongly.
 */
static void
many_pauses_do_not_bias(void **state)
{
	(void)state;
	recorder_start(LONG_INTERVAL, DEPTH, LARGE);
	for (int i = 0; i < TOGGLES; i++) {
		allocate(15);
		ask(TH_CONTROL_PAUSE, 0, "");
		allocate(25);
		ask(TH_CONTROL_RESUME, 0, "");
	}
	assert_int_equal(counted(), TOGGLES * 15 * BLOCK);
	/* 60 MB: 916 samples. */
	assert_in_range(samples(), 916 - SIGMAS * 30, 916 + SIGMAS * 30);
	assert_estimate(TOGGLES * 15 * BLOCK);
}

/* Blocks sampled before a pause are followed through it. */
static void
frees_are_seen_in_pauses(void **state)
{
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	allocate(10);
	ask(TH_CONTROL_PAUSE, 0, "");
	for (uintptr_t i = 0; i < 10; i++)
		recorder_release(recorder_block(i));
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), 10);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_FREE), 10);
	log_image_close(&image);
}

static void *
allocate_on_thread(void *argument)
{
	prctl(PR_SET_NAME, (const char *)argument);
	th_thread.countdown = 0;
	allocate(1000);
	return NULL;
}

static void
run_thread(const char *name)
{
	pthread_t thread;

	th_guard_enter();
	assert_int_equal(
		pthread_create(&thread, NULL, allocate_on_thread, (void *)(uintptr_t)name), 0);
	pthread_join(thread, NULL);
	th_guard_leave();
}

/* Threads that start and end in a pause contribute no bytes. */
static void
threads_of_a_pause(void **state)
{
	(void)state;
	recorder_start(INTERVAL, DEPTH, LARGE);
	allocate(100);
	ask(TH_CONTROL_PAUSE, 0, "");
	size_t before = samples();
	run_thread("paused");
	assert_int_equal(samples(), before);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_BYTES_QUIET), 0);
	ask(TH_CONTROL_RESUME, 0, "");
	run_thread("resumed");
	assert_true(samples() > before);
}

/* Heaps */

static uint64_t java_bytes;

static bool
read_java(struct th_thread_record *record, uint64_t *bytes_ret)
{
	(void)record;
	*bytes_ret = java_bytes;
	return true;
}

static uint64_t
counted_java(void)
{
	return th_counted_bytes(th_thread.record, TH_HEAP_JAVA, java_bytes);
}

static bool java_is_free;

static bool
take_java(bool is_wanted)
{
	th_admission_set_java(is_wanted && java_is_free);
	return !is_wanted || java_is_free;
}

/*
 * Each heap has its own byte count; the Java heap is counted while the library holds the VM's
 * sampler.
 */
static void
one_heap_or_both(void **state)
{
	(void)state;
	java_bytes = 1000;
	java_is_free = true;
	recorder_start(INTERVAL, DEPTH, LARGE);
	allocate(10);
	th_admission_read_java_by(read_java);
	th_control_set_java(&(const struct th_control_java){.switch_sampling = take_java});
	assert_int_equal(counted_java(), 0);
	assert_int_equal(ask(TH_CONTROL_HEAPS, 1u << TH_HEAP_JAVA, ""), TH_CONTROL_DONE);
	java_bytes += 500;
	allocate(10);
	assert_int_equal(counted_java(), 500);
	assert_int_equal(counted(), 10 * BLOCK);
	assert_int_equal(ask(TH_CONTROL_HEAPS, 1u << TH_HEAP_NATIVE, ""), TH_CONTROL_DONE);
	java_bytes += 500;
	allocate(10);
	assert_int_equal(counted_java(), 500);
	assert_int_equal(counted(), 20 * BLOCK);
	java_is_free = false;
	assert_int_equal(ask(TH_CONTROL_HEAPS, TH_HEAPS_ALL, ""), TH_CONTROL_NO_JAVA);
	java_bytes += 500;
	assert_int_equal(counted_java(), 500);
	assert_int_equal(ask(TH_CONTROL_HEAPS, 0, ""), TH_CONTROL_REFUSED);
	assert_int_equal(ask(TH_CONTROL_HEAPS, 16, ""), TH_CONTROL_REFUSED);
}

/* The end */

/*
 * Without an agent thread the next sample ends the recording; later allocations leave no trace.
 */
static void
stop(void **state)
{
	struct th_log_control *control;
	struct log_image image;

	(void)state;
	recorder_start(INTERVAL, DEPTH, LARGE);
	control = &th_log_header()->control;
	allocate(1000);
	control->verb = TH_CONTROL_STOP;
	control->asked++;
	/* Time has to pass: the page is polled every 10 ms. */
	while (!th_housekeeping_is_ending())
		allocate(100);
	assert_int_equal(control->answer, TH_CONTROL_DONE);
	assert_int_equal(th_log_header()->state, TH_LOG_COMPLETE);
	size_t before = samples();
	allocate(10000);
	assert_int_equal(samples(), before);
	recorder_release(recorder_block(1));
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_END), 1);
	assert_int_equal(image.records[image.count - 1].type, TH_EVENT_END);
	assert_int_equal(image.header->tail, th_log_header()->tail);
	log_image_close(&image);
	th_guard_enter();
	th_recorder_end();
	th_guard_leave();
	assert_int_equal(th_log_header()->tail, th_log_header()->limit);
}

/* A child of vfork() shares the page, and must not serve requests of the parent. */
static void
requests_are_the_owners(void **state)
{
	struct th_log_control *control;

	(void)state;
	recorder_start(INTERVAL, DEPTH, LARGE);
	control = &th_log_header()->control;
	control->verb = TH_CONTROL_PAUSE;
	control->asked++;
	pid_t child = vfork();
	if (!child) {
		th_housekeeping_run();
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(control->served, 0);
	assert_int_equal(th_log_header()->paused, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_a_pause_leaves_out, recorder_tear_down),
		cmocka_unit_test_teardown(pauses_do_not_nest, recorder_tear_down),
		cmocka_unit_test_teardown(many_pauses_do_not_bias, recorder_tear_down),
		cmocka_unit_test_teardown(frees_are_seen_in_pauses, recorder_tear_down),
		cmocka_unit_test_teardown(threads_of_a_pause, recorder_tear_down),
		cmocka_unit_test_teardown(one_heap_or_both, recorder_tear_down),
		cmocka_unit_test_teardown(stop, recorder_tear_down),
		cmocka_unit_test_teardown(requests_are_the_owners, recorder_tear_down),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
