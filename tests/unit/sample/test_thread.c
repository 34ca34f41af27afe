/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of threads: exact bytes under draws, postponements and guards; ids that are never
 * reused; the records that a thread leaves in the log when it ends.
 */
#include "tests/unit/log/log_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unify/sample/thread.h"
#include "unify/shared/clock.h"

#define LARGE ((uint64_t)64 << 20)
#define INTERVAL 4096
#define ERRNO_SENTINEL 77
/* End of the fixed part of THREAD, where its name begins. */
#define THREAD_NAME (offsetof(struct th_event_thread, starter) + 4)

/* Helpers */

static int
open_log(void **state)
{
	(void)state;
	log_fixture_open(LARGE);
	return 0;
}

static struct th_thread_record *
own_record(void)
{
	struct th_thread_record *record;

	th_guard_enter();
	record = th_thread_record();
	th_guard_leave();
	return record;
}

/*
 * The effect of an allocation on the calling thread; a due one draws anew, like the recorder.
 */
static void
allocate(uint64_t size)
{
	struct th_thread_record *record;

	if (!th_countdown_take(&th_thread.countdown, size))
		return;
	uint64_t bytes = th_thread_native_bytes();
	th_guard_enter();
	record = th_thread_record();
	th_thread_draw(record, INTERVAL, bytes);
	th_guard_leave();
}

/* Runs `body` on a new thread, to its end. */
static void
run_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, body, argument), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The last THREAD_BYTES of a thread in the C heap; -1 if there is none. */
static int64_t
logged_bytes(const struct log_image *image, uint32_t thread)
{
	int64_t bytes = -1;

	for (size_t i = 0; i < image->count; i++) {
		const struct th_event_thread_bytes *event =
			(const void *)image->records[i].bytes;

		if (image->records[i].type == TH_EVENT_THREAD_BYTES &&
			event->thread == thread && event->heap == TH_HEAP_NATIVE)
			bytes = (int64_t)event->bytes;
	}
	return bytes;
}

static size_t
count_records(void)
{
	size_t count = 0;

	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record))
		count++;
	return count;
}

/* Exact bytes */

/* Allocations, draws at other intervals, postponements and guards, in random order. */
static void *
allocate_at_random(void *wrong)
{
	struct th_random random;
	uint64_t sum = 0;

	th_random_seed(&random, 1);
	for (int i = 0; i < 200000; i++) {
		uint64_t bits = th_random_next(&random);
		uint64_t size = bits >> 40 & 0xfff;

		if (bits % 64 == 0) {
			th_thread_postpone(bits >> 32 & 0xffff);
		} else if (bits % 64 == 1) {
			th_guard_enter();
			th_guard_enter();
			allocate(size);
			th_guard_leave();
			allocate(size);
			th_guard_leave();
		} else {
			allocate(size);
			sum += size;
		}
		/* Bytes from before the first record do not count for the thread. */
		if (!th_thread.record)
			sum = th_thread_native_bytes();
		*(unsigned *)wrong += th_thread_native_bytes() != sum;
	}
	return NULL;
}

static void
test_bytes_are_exact(void **state)
{
	unsigned wrong = 0;

	(void)state;
	run_thread(allocate_at_random, &wrong);
	assert_int_equal(wrong, 0);
}

/* A request of more than 2^63 bytes is due, and can be returned exactly. */
static void *
allocate_too_much(void *wrong)
{
	static const uint64_t sizes[] = {
		UINT64_MAX, (uint64_t)1 << 63, (uint64_t)3 << 62, UINT64_MAX - 100000};

	allocate(10);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct th_thread before = th_thread;

		*(unsigned *)wrong += !th_countdown_take(&th_thread.countdown, sizes[i]);
		th_thread.countdown += sizes[i];
		*(unsigned *)wrong += th_thread.countdown != before.countdown;
	}
	return NULL;
}

static void
test_sizes_beyond_half_of_all(void **state)
{
	unsigned wrong = 0;

	(void)state;
	run_thread(allocate_too_much, &wrong);
	assert_int_equal(wrong, 0);
}

/* A new thread is due at once; at interval 0 always, also for blocks of 0 bytes. */
static void *
take_at_interval_0(void *wrong)
{
	unsigned *count = wrong;

	*count += !th_countdown_take(&th_thread.countdown, 0);
	th_guard_enter();
	th_thread_draw(th_thread_record(), 0, 0);
	th_guard_leave();
	for (uint64_t i = 0; i < 100; i++) {
		*count += !th_countdown_take(&th_thread.countdown, i);
		th_guard_enter();
		th_thread_draw(th_thread_record(), 0, i);
		th_guard_leave();
		*count += th_thread_native_bytes() != i;
	}
	return NULL;
}

static void
test_interval_0(void **state)
{
	unsigned wrong = 0;

	(void)state;
	run_thread(take_at_interval_0, &wrong);
	assert_int_equal(wrong, 0);
}

/* Records */

static void *
take_id(void *id_ret)
{
	*(uint32_t *)id_ret = own_record()->id;
	return NULL;
}

/* The memory of an ended thread is used for the next one, under a new id. */
static void
test_records_are_reused_ids_are_not(void **state)
{
	uint32_t first, id;

	(void)state;
	run_thread(take_id, &first);
	size_t records = count_records();
	for (uint32_t i = 1; i < 1000; i++) {
		run_thread(take_id, &id);
		assert_int_equal(id, first + i);
	}
	assert_int_equal(count_records(), records);
}

static void
test_record_is_one_per_thread(void **state)
{
	uint32_t id;

	(void)state;
	struct th_thread_record *record = own_record();
	assert_ptr_equal(own_record(), record);
	assert_int_equal(record->tid, syscall(SYS_gettid));
	assert_ptr_equal(record->state, &th_thread);
	run_thread(take_id, &id);
	assert_int_not_equal(id, record->id);
}

#define THREADS 64

struct meeting {
	pthread_barrier_t barrier;
	uint32_t ids[THREADS];
	uint32_t next; /* atomic */
};

static void *
meet(void *argument)
{
	struct meeting *meeting = argument;

	pthread_barrier_wait(&meeting->barrier);
	uint32_t id = own_record()->id;
	meeting->ids[__atomic_fetch_add(&meeting->next, 1, __ATOMIC_RELAXED)] = id;
	pthread_barrier_wait(&meeting->barrier);
	return NULL;
}

/* Many threads register at the same time: as many ids, without a gap. */
static void
test_threads_register_together(void **state)
{
	struct meeting meeting = {.next = 0};
	pthread_t threads[THREADS];
	uint64_t seen = 0;
	uint32_t lowest = UINT32_MAX;

	(void)state;
	pthread_barrier_init(&meeting.barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, meet, &meeting);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&meeting.barrier);
	for (size_t i = 0; i < THREADS; i++)
		lowest = meeting.ids[i] < lowest ? meeting.ids[i] : lowest;
	for (size_t i = 0; i < THREADS; i++) {
		assert_in_range(meeting.ids[i] - lowest, 0, THREADS - 1);
		seen |= (uint64_t)1 << (meeting.ids[i] - lowest);
	}
	assert_true(seen == UINT64_MAX);
}

static void *
first_draws(void *argument)
{
	uint64_t *draws = argument;

	th_guard_enter();
	for (int i = 0; i < 4; i++)
		draws[i] = th_random_next(&th_thread_record()->random);
	th_guard_leave();
	return NULL;
}

/* A new thread does not repeat the random numbers of the thread whose record it reuses. */
static void
test_threads_draw_differently(void **state)
{
	uint64_t first[4], second[4];

	(void)state;
	run_thread(first_draws, first);
	run_thread(first_draws, second);
	for (int i = 0; i < 4; i++)
		assert_int_not_equal(first[i], second[i]);
}

/* Names */

static void *
log_under_two_names(void *id_ret)
{
	struct th_thread_record *record = own_record();

	*(uint32_t *)id_ret = record->id;
	prctl(PR_SET_NAME, "one");
	th_thread_log(record, TH_NS_PER_S);
	th_thread_log(record, 2 * TH_NS_PER_S);
	prctl(PR_SET_NAME, "two");
	th_thread_log(record, 3 * TH_NS_PER_S);
	return NULL;
}

/* Logged when new, and again when the name changed. */
static void
test_kernel_names(void **state)
{
	struct log_image image;
	uint32_t id;

	(void)state;
	run_thread(log_under_two_names, &id);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), 2);
	const struct th_event_thread *thread = log_image_get(&image, TH_EVENT_THREAD, 0);
	assert_int_equal(thread->thread, id);
	log_image_assert_text(thread, THREAD_NAME, "one");
	thread = log_image_get(&image, TH_EVENT_THREAD, 1);
	assert_int_equal(thread->thread, id);
	log_image_assert_text(thread, THREAD_NAME, "two");
	log_image_close(&image);
}

#define NAME_NS (TH_NS_PER_S / 10000)
#define SAMPLED_AT (5 * (uint64_t)TH_NS_PER_S)

static void *
rename_between_samples(void *unused)
{
	struct th_thread_record *record = own_record();

	(void)unused;
	prctl(PR_SET_NAME, "one");
	th_thread_log(record, SAMPLED_AT);
	prctl(PR_SET_NAME, "unseen");
	th_thread_log(record, SAMPLED_AT + NAME_NS - 1);
	prctl(PR_SET_NAME, "two");
	th_thread_log(record, SAMPLED_AT + NAME_NS);
	prctl(PR_SET_NAME, "no sample");
	return NULL;
}

/* Samples read the name every 0.1 ms; a name without a sample is not logged. */
static void
test_names_of_samples(void **state)
{
	static const char *const names[] = {"one", "two"};
	struct log_image image;

	(void)state;
	run_thread(rename_between_samples, NULL);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), 2);
	for (size_t i = 0; i < 2; i++)
		log_image_assert_text(
			log_image_get(&image, TH_EVENT_THREAD, i), THREAD_NAME, names[i]);
	log_image_close(&image);
}

static void *
log_under_a_java_name(void *unused)
{
	(void)unused;
	struct th_thread_record *record = own_record();
	th_guard_enter();
	th_thread_rename(record, "pool-1-thread-1");
	th_thread_log(record, TH_NS_PER_S);
	prctl(PR_SET_NAME, "other");
	th_thread_log(record, 2 * TH_NS_PER_S);
	th_thread_rename(record, "pool-1-thread-1");
	th_thread_rename(
		record, "a name of more than sixty-three characters is cut behind them, here");
	th_guard_leave();
	return NULL;
}

/* Java's name has precedence over the kernel's, which is cut at 15 characters. */
static void
test_java_names(void **state)
{
	struct log_image image;

	(void)state;
	run_thread(log_under_a_java_name, NULL);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD), 2);
	log_image_assert_text(
		log_image_get(&image, TH_EVENT_THREAD, 0), THREAD_NAME, "pool-1-thread-1");
	log_image_assert_text(log_image_get(&image, TH_EVENT_THREAD, 1), THREAD_NAME,
		"a name of more than sixty-three characters is cut behind them, ");
	log_image_close(&image);
}

/* The end of a thread */

#define END_BYTES 12345

static void *
allocate_and_end(void *id_ret)
{
	struct th_thread_record *record = own_record();

	th_thread_postpone(LARGE);
	if (id_ret) {
		*(uint32_t *)id_ret = record->id;
		th_thread_log(record, th_clock_now());
	}
	allocate(END_BYTES);
	return NULL;
}

/* A thread that is in the log gets a record of its exact bytes. */
static void
test_end_of_a_logged_thread(void **state)
{
	struct log_image image;
	uint32_t id;

	(void)state;
	run_thread(allocate_and_end, &id);
	log_image_open(&image);
	assert_int_equal(logged_bytes(&image, id), END_BYTES);
	assert_int_equal(image.header->counters[TH_COUNTER_NATIVE_BYTES_QUIET], 0);
	log_image_close(&image);
}

/* Those of other threads are added to one counter. */
static void
test_end_of_quiet_threads(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		run_thread(allocate_and_end, NULL);
	assert_int_equal(
		th_log_header()->counters[TH_COUNTER_NATIVE_BYTES_QUIET], 10 * END_BYTES);
}

static pthread_key_t late_key;

static void
allocate_late(void *value)
{
	(void)value;
	allocate(1000);
}

static void *
end_with_a_destructor(void *unused)
{
	(void)unused;
	own_record();
	th_thread_postpone(LARGE);
	pthread_setspecific(late_key, &late_key);
	allocate(END_BYTES);
	return NULL;
}

/* Allocations in destructors of other libraries, which run after ours, are counted. */
static void
test_destructors_of_others_are_seen(void **state)
{
	(void)state;
	assert_int_equal(pthread_key_create(&late_key, allocate_late), 0);
	run_thread(end_with_a_destructor, NULL);
	assert_int_equal(
		th_log_header()->counters[TH_COUNTER_NATIVE_BYTES_QUIET], END_BYTES + 1000);
	pthread_key_delete(late_key);
}

/* Bytes of living threads */

struct living {
	pthread_t thread;
	pthread_barrier_t barrier;
	uint32_t id;
	bool is_logged;
};

static void *
live(void *argument)
{
	struct living *living = argument;
	struct th_thread_record *record = own_record();

	living->id = record->id;
	th_thread_postpone(LARGE);
	if (living->is_logged)
		th_thread_log(record, th_clock_now());
	allocate(100);
	pthread_barrier_wait(&living->barrier);
	pthread_barrier_wait(&living->barrier);
	allocate(50);
	pthread_barrier_wait(&living->barrier);
	pthread_barrier_wait(&living->barrier);
	return NULL;
}

static void
start_living(struct living *living, bool is_logged)
{
	living->is_logged = is_logged;
	pthread_barrier_init(&living->barrier, NULL, 2);
	pthread_create(&living->thread, NULL, live, living);
	pthread_barrier_wait(&living->barrier);
}

static void
go_on(struct living *living)
{
	pthread_barrier_wait(&living->barrier);
	pthread_barrier_wait(&living->barrier);
}

/* Emulators of foreign processors lack the system call that reads another thread's memory. */
static bool
can_read_other_threads(void)
{
	char from = 1;
	char to = 0;

	return process_vm_readv(getpid(), &(struct iovec){&to, 1}, 1, &(struct iovec){&from, 1},
		       1, 0) == 1;
}

static void
end_living(struct living *living)
{
	pthread_barrier_wait(&living->barrier);
	pthread_join(living->thread, NULL);
	pthread_barrier_destroy(&living->barrier);
}

/* Read from outside, while the thread lives; written only if they changed. */
static void
test_bytes_of_a_living_thread(void **state)
{
	struct living living;
	struct log_image image;

	(void)state;
	if (!can_read_other_threads())
		skip();
	start_living(&living, true);
	errno = ERRNO_SENTINEL;
	th_thread_log_bytes(false);
	assert_int_equal(errno, ERRNO_SENTINEL);
	log_image_open(&image);
	assert_int_equal(logged_bytes(&image, living.id), 100);
	size_t count = log_image_count(&image, TH_EVENT_THREAD_BYTES);
	log_image_close(&image);
	th_thread_log_bytes(false);
	log_image_open(&image);
	assert_int_equal(log_image_count(&image, TH_EVENT_THREAD_BYTES), count);
	log_image_close(&image);
	go_on(&living);
	th_thread_log_bytes(false);
	log_image_open(&image);
	assert_int_equal(logged_bytes(&image, living.id), 150);
	log_image_close(&image);
	end_living(&living);
}

/* At the end, threads without a record in the log are also included. */
static void
test_bytes_of_a_living_quiet_thread(void **state)
{
	struct living living;
	struct log_image image;

	(void)state;
	if (!can_read_other_threads())
		skip();
	start_living(&living, false);
	th_thread_log_bytes(false);
	uint64_t *quiet = &th_log_header()->counters[TH_COUNTER_NATIVE_BYTES_QUIET];
	assert_int_equal(*quiet, 0);
	uint64_t own = own_record()->logged ? 0 : th_thread_native_bytes();
	th_thread_log_bytes(true);
	assert_int_equal(*quiet, 100 + own);
	log_image_open(&image);
	assert_int_equal(logged_bytes(&image, living.id), -1);
	log_image_close(&image);
	go_on(&living);
	end_living(&living);
}

/* Fork */

/* Runs in a child; returns its exit status, the number of the failed step. */
static int
start_anew(uint32_t parent_id)
{
	th_guard_enter();
	th_log_detach();
	th_thread_reset();
	/* The guard is that of the forking thread: a handler may have interrupted a capture. */
	th_guard_leave();
	if (th_thread.record || th_thread.guard || th_thread.countdown)
		return 1;
	if (!th_countdown_take(&th_thread.countdown, 1))
		return 2;
	for (struct th_thread_record *record = th_thread_first(); record;
		record = th_thread_next(record)) {
		if (record->state)
			return 3;
	}
	th_guard_enter();
	struct th_thread_record *record = own_record();
	if (!record || record->id == parent_id || record->logged || record->has_drawn)
		return 4;
	return record->tid == (uint32_t)syscall(SYS_gettid) ? 0 : 5;
}

static void
test_reset_in_a_forked_child(void **state)
{
	uint32_t id = own_record()->id;
	int status;

	(void)state;
	pid_t child = fork();
	if (child == 0)
		_exit(start_anew(id));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(own_record()->id, id);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, open_log, log_fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_bytes_are_exact),
		CASE(test_sizes_beyond_half_of_all),
		CASE(test_interval_0),
		CASE(test_records_are_reused_ids_are_not),
		CASE(test_record_is_one_per_thread),
		CASE(test_threads_register_together),
		CASE(test_threads_draw_differently),
		CASE(test_kernel_names),
		CASE(test_names_of_samples),
		CASE(test_java_names),
		CASE(test_end_of_a_logged_thread),
		CASE(test_end_of_quiet_threads),
		CASE(test_destructors_of_others_are_seen),
		CASE(test_bytes_of_a_living_thread),
		CASE(test_bytes_of_a_living_quiet_thread),
		CASE(test_reset_in_a_forked_child),
	};

	th_thread_init(20260101);
	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
