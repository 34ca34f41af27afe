/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's events for each sample of either heap, its behaviour at limits, on several
 * threads and in a forked child.  Java frames are in test_recorder_java.c.
 */
#include "tests/unit/recording/recorder_fixture.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unify/recording/housekeeping.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/native.h"
#include "unify/sample/throttle.h"

#define ERRNO_SENTINEL 77

/* Samples of the C heap */

static void
test_sample(void **state)
{
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), 1);
	const struct th_event_native_alloc *event = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, 0);
	assert_int_equal(event->size, 100);
	assert_int_equal(event->interval, 0);
	assert_int_equal(event->thread_bytes, 100);
	assert_int_equal(event->address, (uintptr_t)recorder_block(1));
	assert_int_equal(event->function, TH_FUNCTION_MALLOC);
	assert_int_equal(event->flags, TH_NATIVE_TRACKED);
	assert_int_equal(event->thread, th_thread.record->id);
	assert_in_range(event->time, image.header->start_monotonic, UINT64_MAX);
	/* The recorder, recorder_allocate(), this function, cmocka, main() and libc. */
	assert_true(recorder_frames(&image, event->stack, &frames, &flags) >= 5);
	assert_int_equal(flags, 0);
	assert_true(recorder_is_in(
		&image, frames[1], (const void *)(uintptr_t)recorder_allocate, 128));
	assert_true(
		recorder_is_in(&image, frames[2], (const void *)(uintptr_t)test_sample, 4096));
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
	log_image_close(&image);
}

/* The records that a sample refers to precede it in the log, once each. */
static void
test_order_of_records(void **state)
{
	static const uint32_t wanted[] = {
		TH_EVENT_MODULE, TH_EVENT_STACK, TH_EVENT_THREAD, TH_EVENT_NATIVE_ALLOC};
	/* Volatile, or the compiler may unroll the loop, which makes ten stacks. */
	volatile uintptr_t count = 10;
	struct log_image image;
	size_t next = 0;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	for (uintptr_t i = 0; i < count; i++)
		recorder_allocate(recorder_block(i), 100);
	log_image_open(&image);
	for (size_t i = 0; i < image.count && next < 4; i++)
		next += image.records[i].type == wanted[next];
	assert_int_equal(next, 4);
	assert_int_equal(log_image_count(&image, TH_EVENT_STACK), 1);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), 1);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), 10);
	log_image_close(&image);
}

/* The sample of a block is the offset of its record. */
static void
test_freed_block(void **state)
{
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	recorder_allocate(recorder_block(2), 200);
	recorder_release(recorder_block(2));
	recorder_release(recorder_block(2));
	recorder_release(recorder_block(3));
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_FREE), 1);
	const struct th_event_native_free *event = log_image_get(
		&image, TH_EVENT_NATIVE_FREE, 0);
	const struct th_event_native_alloc *second = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, 1);
	assert_int_equal(event->sample,
		(uint64_t)((const char *)second - (const char *)image.records[0].bytes) +
			image.records[0].offset);
	assert_int_equal(event->thread, th_thread.record->id);
	log_image_close(&image);
}

/* A failed realloc: the block is unchanged. */
static void
test_relink(void **state)
{
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	uint64_t sample = th_native_unlink(recorder_block(1));
	assert_int_not_equal(sample, 0);
	assert_false(th_live_blocks_may_hold(recorder_block(1)));
	th_native_relink(recorder_block(1), sample);
	assert_true(th_live_blocks_may_hold(recorder_block(1)));
	assert_int_equal(th_native_unlink(recorder_block(1)), sample);
	th_native_relink(recorder_block(2), 0);
	assert_false(th_live_blocks_may_hold(recorder_block(2)));
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_FREE), 0);
	log_image_close(&image);
}

/* A failed request leaves no trace, not even in the exact bytes. */
static void
test_failed_allocation(void **state)
{
	static const size_t sizes[] = {100, SIZE_MAX, (size_t)1 << 63, (size_t)3 << 62};

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	for (size_t i = 0; i < 4; i++) {
		recorder_allocate(NULL, sizes[i]);
		assert_int_equal(th_thread_native_bytes(), 100);
	}
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
}

static void
test_errno_is_preserved(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	errno = ERRNO_SENTINEL;
	recorder_allocate(recorder_block(1), 100);
	recorder_allocate(NULL, 100);
	recorder_release(recorder_block(1));
	recorder_release(recorder_block(2));
	th_native_unlink(recorder_block(3));
	assert_int_equal(errno, ERRNO_SENTINEL);
}

/* A signal handler that allocates at the very start of a visit is dropped and counted. */
static void
test_allocation_inside_a_visit(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	th_guard_enter();
	th_native_allocated(recorder_block(1), 100, TH_FUNCTION_MALLOC);
	th_guard_leave();
	assert_int_equal(recorder_counter(TH_COUNTER_DROPPED_REENTERED), 1);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 0);
}

/*
 * At an interval of 64 KiB a million blocks of 200 bytes give 3,056 samples, each with a weight
 * of 328.2 blocks: 1,000,000 +- 18,090.  The bound is five of these.
 */
static void
test_weights_add_up(void **state)
{
	const double p = -expm1(-200.0 / 65536);
	const double sd = sqrt(1e6 * (1 - p) / p);
	struct log_image image;
	double objects = 0;
	uint64_t previous = 0;

	(void)state;
	recorder_start(65536, DEPTH, LARGE);
	for (uintptr_t i = 0; i < 1000000; i++)
		recorder_allocate(recorder_block(i % 1000), 200);
	log_image_open(&image);
	for (size_t i = 0; i < image.count; i++) {
		const struct th_event_native_alloc *event =
			(const void *)image.records[i].bytes;

		if (image.records[i].type != TH_EVENT_NATIVE_ALLOC)
			continue;
		assert_int_equal(event->interval, 65536);
		/* This block is counted, and every earlier one. */
		assert_int_equal(event->thread_bytes % 200, 0);
		assert_true(event->thread_bytes > previous);
		previous = event->thread_bytes;
		objects += 1 / p;
	}
	assert_true(fabs(objects - 1e6) < 5 * sd);
	assert_int_equal(th_thread_native_bytes(), 200 * 1000000);
	log_image_close(&image);
}

/* A thread that allocated before recording began is sampled from its start. */
static void
test_starting_thread_joins_at_once(void **state)
{
	(void)state;
	th_recorder_reset();
	recorder_allocate(recorder_block(1), 100);
	recorder_allocate(recorder_block(2), 1000);
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(3), 100);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
	assert_int_equal(th_thread_native_bytes(), 100);
}

/* Records some heaps only. */
static void
restart(bool native, bool java)
{
	const struct th_recorder_settings some = {.limits.interval = 0,
		.depth = DEPTH,
		.heaps = (native ? 1u << TH_HEAP_NATIVE : 0) | (java ? 1u << TH_HEAP_JAVA : 0),
		.seen = 1u << TH_HEAP_JAVA};

	recorder_start(0, DEPTH, LARGE);
	th_recorder_reset();
	th_recorder_start(&some);
}

static void
test_native_heap_off(void **state)
{
	(void)state;
	restart(false, true);
	recorder_allocate(recorder_block(1), 100);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 0);
	assert_false(th_live_blocks_may_hold(recorder_block(1)));
}

static void
test_stopped(void **state)
{
	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	th_in_flight_close();
	uint64_t tail = th_log_header()->tail;
	recorder_allocate(recorder_block(2), 100);
	recorder_release(recorder_block(1));
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 1);
	assert_int_equal(th_log_header()->tail, tail);
}

/* A capture that is still in flight after the end may write to the log. */
static void
test_restart_keeps_the_log_of_a_capture_in_flight(void **state)
{
	const struct th_log_header *header;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	header = th_log_header();
	assert_true(th_in_flight_begin());
	th_recorder_end();
	assert_false(th_recorder_restart());
	assert_ptr_equal(th_log_header(), header);
	th_in_flight_end();
	assert_true(th_recorder_restart());
	assert_null(th_log_header());
}

/* Depth */

static NOINLINE void
recurse(unsigned depth)
{
	if (depth)
		recurse(depth - 1);
	else
		recorder_allocate(recorder_block(1), 100);
	STAY();
}

static void
check_depth(uint32_t depth)
{
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	recorder_start(0, depth, LARGE);
	recurse(300);
	log_image_open(&image);
	const struct th_event_native_alloc *event = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, 0);
	assert_int_equal(recorder_frames(&image, event->stack, &frames, &flags), depth);
	assert_int_equal(flags, TH_STACK_TRUNCATED);
	if (depth > 1)
		assert_true(recorder_is_in(
			&image, frames[1], (const void *)(uintptr_t)recorder_allocate, 128));
	log_image_close(&image);
	recorder_tear_down(NULL);
}

static void
test_deep_stacks_are_cut(void **state)
{
	(void)state;
	check_depth(1);
	check_depth(2);
	check_depth(256);
	recorder_start(0, 2048, LARGE);
	recurse(300);
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;
	log_image_open(&image);
	const struct th_event_native_alloc *event = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, 0);
	assert_true(recorder_frames(&image, event->stack, &frames, &flags) > 301);
	assert_int_equal(flags, 0);
	log_image_close(&image);
}

/* Limits */

/* A block whose sample did not fit is not tracked. */
static void
test_log_full(void **state)
{
	uintptr_t i = 0;

	(void)state;
	recorder_start(0, DEPTH, MIB);
	while (!recorder_counter(TH_COUNTER_DROPPED_LOG_FULL))
		recorder_allocate(recorder_block(i++), 100);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), i - 1);
	assert_false(th_live_blocks_may_hold(recorder_block(i - 1)) &&
		     th_native_unlink(recorder_block(i - 1)));
	assert_true(th_live_blocks_may_hold(recorder_block(0)));
	assert_int_equal(th_thread_native_bytes(), 100 * i);
}

/*
 * Space becomes available: stacks that could not be written are written at their next
 * occurrence.
 */
static void
test_stacks_of_a_full_log_are_written_later(void **state)
{
	struct log_image image;
	struct rlimit old;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	recorder_start(0, DEPTH, LARGE);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){MIB, old.rlim_max});
	for (uintptr_t i = 0; !recorder_counter(TH_COUNTER_DROPPED_NO_SPACE); i++)
		recorder_allocate(recorder_block(i), 100);
	uint64_t samples = recorder_counter(TH_COUNTER_NATIVE_SAMPLES);
	/* One call, so one stack: first without space, then with. */
	for (volatile int turn = 0; turn < 2; turn++) {
		recurse(3);
		setrlimit(RLIMIT_FSIZE, &old);
		usleep(150000); /* a log that could not grow retries after a tenth of a second */
	}
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), samples + 1);
	log_image_open(&image);
	for (size_t i = 0; i < samples + 1; i += samples) {
		const struct th_event_native_alloc *event = log_image_get(
			&image, TH_EVENT_NATIVE_ALLOC, i);
		const uint64_t *frames;
		uint32_t flags;

		assert_true(recorder_frames(&image, event->stack, &frames, &flags) > 3);
	}
	log_image_close(&image);
}

/* Blocks beyond the table are sampled, but their frees are not tracked, which is counted. */
static void
test_live_table_full(void **state)
{
	uintptr_t i = 0;
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	while (!recorder_counter(TH_COUNTER_LIVE_TABLE_FULL) && i < 300000)
		recorder_allocate(recorder_block(i++), 100);
	assert_int_equal(recorder_counter(TH_COUNTER_LIVE_TABLE_FULL), 1);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), i);
	log_image_open(&image);
	const struct th_event_native_alloc *last = log_image_get(
		&image, TH_EVENT_NATIVE_ALLOC, i - 1);
	assert_int_equal(last->flags, 0);
	log_image_close(&image);
}

/* The rate, set through the control page */

static void
ask_for_rate(uint64_t rate)
{
	struct th_log_control *control = &th_log_header()->control;

	control->verb = TH_CONTROL_RATE;
	control->value = rate;
	control->asked++;
	th_guard_enter();
	th_housekeeping_run();
	th_guard_leave();
	assert_int_equal(control->served, control->asked);
	assert_int_equal(control->answer, TH_CONTROL_DONE);
}

/* Each due sample is recorded, at a rate that no machine exceeds; the request is in the log. */
static void
test_rate_is_asked_for(void **state)
{
	const uintptr_t count = 1000;
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	ask_for_rate(1000000);
	for (uintptr_t i = 0; i < count; i++)
		recorder_allocate(recorder_block(i), 100);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), count);
	assert_int_equal(recorder_counter(TH_COUNTER_SAMPLES_DUE), count);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_CONTROL), 1);
	log_image_close(&image);
}

/* The Java heap */

static void
test_java_sample(void **state)
{
	const struct th_event_java_alloc object = {.size = 4096,
		.interval = 524288,
		.thread_bytes = 99999,
		.class = 5,
		.flags = TH_JAVA_VIRTUAL_THREAD};
	struct log_image image;
	const uint64_t *frames;
	uint32_t flags;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	uint64_t sample = recorder_java(&object);
	assert_int_not_equal(sample, 0);
	log_image_open(&image);
	const struct th_event_java_alloc *event = log_image_get(&image, TH_EVENT_JAVA_ALLOC, 0);
	assert_int_equal(event->size, 4096);
	assert_int_equal(event->interval, 524288);
	assert_int_equal(event->thread_bytes, 99999);
	assert_int_equal(event->class, 5);
	assert_int_equal(event->flags, TH_JAVA_VIRTUAL_THREAD);
	assert_int_equal(event->thread, th_thread.record->id);
	assert_true(recorder_frames(&image, event->stack, &frames, &flags) > 0);
	assert_int_equal(recorder_counter(TH_COUNTER_JAVA_SAMPLES), 1);
	assert_int_equal(recorder_counter(TH_COUNTER_NATIVE_SAMPLES), 0);
	log_image_close(&image);
	th_in_flight_close();
	assert_int_equal(recorder_java(&object), 0);
	assert_int_equal(recorder_counter(TH_COUNTER_SAMPLES_DUE), 2);
	assert_int_equal(recorder_counter(TH_COUNTER_DROPPED_STOPPED), 1);
}

/* Several threads */

#define THREADS 4
#define BLOCKS 20000

static NOINLINE void
allocate_some(uintptr_t first)
{
	for (uintptr_t i = 0; i < BLOCKS; i++) {
		recorder_allocate(recorder_block(first + i), 16 + i % 100);
		if (i >= 10)
			recorder_release(recorder_block(first + i - 10));
	}
	STAY();
}

static void *
work(void *first)
{
	allocate_some((uintptr_t)first);
	return NULL;
}

/* Marks the sample of each free; fails if it is marked already. */
static void
check_frees(const struct log_image *image)
{
	const char *log = (const char *)image->records[0].bytes - image->records[0].offset;
	unsigned char *freed = calloc(image->header->tail / 8, 1);

	for (size_t i = 0; i < image->count; i++) {
		const struct th_event_native_free *event =
			(const void *)image->records[i].bytes;

		if (image->records[i].type != TH_EVENT_NATIVE_FREE)
			continue;
		const struct th_log_record *sample = (const void *)(log + event->sample);
		assert_true(event->sample < image->records[i].offset);
		assert_int_equal(sample->type, TH_EVENT_NATIVE_ALLOC);
		assert_int_equal(freed[event->sample / 8]++, 0);
	}
	free(freed);
}

static void
test_concurrent_threads(void **state)
{
	pthread_t threads[THREADS];
	struct log_image image;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i * BLOCKS));
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), THREADS * BLOCKS);
	assert_int_equal(
		log_image_count(&image, TH_EVENT_NATIVE_FREE), THREADS * (BLOCKS - 10));
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), THREADS);
	assert_int_equal(image.torn, 0);
	assert_int_equal(image.damaged, 0);
	check_frees(&image);
	log_image_close(&image);
}

/* Fork */

/* In the child: its own log, with everything that its samples refer to. */
static int
record_in_child(const char *path)
{
	const struct th_log_identity identity = {
		.process_start = 2, .process_space = 1, .interval = 0};
	const struct th_recorder_settings settings = *th_recorder_settings();

	th_log_detach();
	th_recorder_reset();
	if (th_live_blocks_may_hold(recorder_block(1)))
		return 1;
	if (th_log_create(path, LARGE, &identity) != TH_LOG_OK)
		return 2;
	th_recorder_start(&settings);
	recorder_allocate(recorder_block(1), 100);
	return recorder_counter(TH_COUNTER_NATIVE_SAMPLES) == 1 ? 0 : 3;
}

static void
test_forked_child_records_afresh(void **state)
{
	char *path = log_fixture_new_path();
	struct log_image image, parent;
	int status;

	(void)state;
	recorder_start(0, DEPTH, LARGE);
	recorder_allocate(recorder_block(1), 100);
	log_image_open(&parent);
	pid_t child = fork();
	if (child == 0)
		_exit(record_in_child(path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	log_fixture_read(path);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_NATIVE_ALLOC), 1);
	assert_int_equal(log_image_count(&image, TH_EVENT_STACK), 1);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), 1);
	assert_int_equal(log_image_count(&image, TH_EVENT_MODULE),
		log_image_count(&parent, TH_EVENT_MODULE));
	assert_true(log_image_count(&image, TH_EVENT_MODULE) > 0);
	log_image_close(&parent);
	log_image_close(&image);
	free(path);
}

#define CASE(test) cmocka_unit_test_teardown(test, recorder_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_sample),
		CASE(test_order_of_records),
		CASE(test_freed_block),
		CASE(test_relink),
		CASE(test_failed_allocation),
		CASE(test_errno_is_preserved),
		CASE(test_allocation_inside_a_visit),
		CASE(test_weights_add_up),
		CASE(test_starting_thread_joins_at_once),
		CASE(test_native_heap_off),
		CASE(test_stopped),
		CASE(test_restart_keeps_the_log_of_a_capture_in_flight),
		CASE(test_deep_stacks_are_cut),
		CASE(test_log_full),
		CASE(test_stacks_of_a_full_log_are_written_later),
		CASE(test_live_table_full),
		CASE(test_rate_is_asked_for),
		CASE(test_java_sample),
		CASE(test_concurrent_threads),
		CASE(test_forked_child_records_afresh),
	};

	recorder_fixture_init();
	return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
