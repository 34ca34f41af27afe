/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow path of malloc and free for sampled blocks.  A countdown that expires enters here,
 * under the guard; each visit either takes a sample and draws anew, or postpones the next
 * visit.  The live entry of a sample exists before its record is written, so that a concurrent
 * free finds it.
 */
#include "unify/sample/native.h"

#include <errno.h>
#include <unistd.h>

#include "unify/base/at_start.h"
#include "unify/log/log.h"
#include "unify/sample/admission.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/sample.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"

/*
 * Bytes between checks whether recording has begun: large enough to cost nothing, small enough
 * that an allocating thread joins soon.
 */
#define IDLE_BYTES (64 << 20)
/* A live entry whose sample is being written. */
#define SAMPLE_PENDING 1
/*
 * Minimum interval of the draws of a thread that is not sampled.  Its countdown expires to
 * check whether the thread is sampled again, at 0.1 us a visit; the rest of the countdown then
 * serves for its first sample, whatever the interval is.
 */
#define CLOSED_INTERVAL (64 << 10)

/* Probes */

/*
 * Two static probes (USDT) for tools that trace user space, such as OpenTelemetry's eBPF profiler:
 *
 *   otel_memory:alloc(block, size, weight)  a sampled block; the weights of all are an unbiased
 *                                           estimate of all bytes
 *   otel_memory:free(block)                 it is about to be freed
 *
 * Each is one nop and a note of the ELF file; a tool replaces the nop by a trap.  A realloc that
 * fails ends its block for the tool, which stays allocated.
 */

/* Without systemtap-sdt-dev there are no probes. */
#if __has_include(<sys/sdt.h>)
#	include <sys/sdt.h>
#else
#	define DTRACE_PROBE1(provider, name, a) ((void)(a))
#	define DTRACE_PROBE3(provider, name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

static void
probe_alloc(uintptr_t block, uint64_t size, uint64_t weight)
{
	DTRACE_PROBE3(otel_memory, alloc, block, size, weight);
}

static void
probe_free(uintptr_t block)
{
	DTRACE_PROBE1(otel_memory, free, block);
}

/* Recording */

static bool keeps_countdowns; /* while no recording runs */

/* Called at the first sample; NULL: not waiting for one. */
static struct {
	void (*begin)(void);
	uint64_t interval;
	pid_t process;
} first TH_AT_START;

void
th_native_keep_countdowns(void)
{
	keeps_countdowns = true;
}

void
th_native_wait(uint64_t interval, void (*begin)(void))
{
	first.interval = interval;
	first.process = getpid();
	first.begin = begin;
	/* This thread may have a countdown that never ends. */
	th_thread_postpone(0);
}

/*
 * Bytes that a sample represents: the interval for its first sampled byte, and each byte after that
 * once, since all of these are sampled at the same rate.  Unbiased, without the exponential that the
 * inclusion probability needs.
 */
static uint64_t
weight_of(const struct th_event_native_alloc *event)
{
	uint64_t after = -th_thread.guarded_countdown;

	if (!event->interval || after > event->size)
		after = event->size;
	return event->interval + after;
}

/*
 * The address is in the live table, with SAMPLE_PENDING, before the id of the sample is known.
 */
static uint64_t
append_native(struct th_sample *sample)
{
	struct th_event_native_alloc *event = (struct th_event_native_alloc *)sample->event;
	uintptr_t address = (uintptr_t)event->address;
	bool tracked = th_live_blocks_insert(address, SAMPLE_PENDING);

	if (tracked)
		event->flags |= TH_NATIVE_TRACKED;
	else
		th_log_count(TH_COUNTER_LIVE_TABLE_FULL, 1);
	uint64_t id = th_log_append_sample(
		TH_EVENT_NATIVE_ALLOC, event, TH_COUNTER_NATIVE_SAMPLES);
	if (tracked && id) {
		/* Its free will find a sample that is being written. */
		if (!th_live_blocks_insert(address, id))
			th_log_count(TH_COUNTER_LIVE_FREES_LOST, 1);
		probe_alloc(address, event->size, weight_of(event));
	} else if (tracked)
		th_live_blocks_remove(address);
	return id;
}

static const struct th_sample_lane lane = {.heap = TH_HEAP_NATIVE, .append = append_native};

static bool
is_waiting(void)
{
	return first.begin && th_in_flight_state() == TH_IN_FLIGHT_NOT_YET;
}

/* For the thread's next countdown. */
static uint64_t
next_interval(struct th_thread_record *record)
{
	uint64_t interval = is_waiting() ? first.interval
					 : th_throttle_interval(TH_HEAP_NATIVE);

	if (th_admission_admits(record, TH_HEAP_NATIVE) || interval > CLOSED_INTERVAL)
		return interval;
	return CLOSED_INTERVAL;
}

/*
 * A thread's first visit: it had no draw yet, so this block is the first that counts.  True if
 * the fresh countdown expires within it.
 */
static bool
first_draw(struct th_thread_record *record, uint64_t bytes, size_t size)
{
	th_thread_draw(record, next_interval(record), bytes - size);
	return th_countdown_take(&th_thread.guarded_countdown, size);
}

/* `bytes`: total of the thread, including this block, counted or not. */
static void
visit(struct th_event_native_alloc *event, uint64_t bytes, const struct th_registers *registers)
{
	struct th_thread_record *record = th_thread_record();
	struct th_sample sample = {.lane = &lane,
		.record = record,
		.now = th_clock_now(),
		.event = (struct th_event_alloc *)event};

	if (!record) {
		th_thread_postpone(INT64_MAX);
		return;
	}
	if (!record->has_drawn && !first_draw(record, bytes, event->size))
		return;
	th_sample_tick(sample.now);
	bool is_admitted = th_admission_admits(record, TH_HEAP_NATIVE);
	event->interval = record->interval;
	event->thread_bytes = th_counted_bytes(record, TH_HEAP_NATIVE, bytes);
	/* Fewer: the thread was admitted after this allocation. */
	if (is_admitted && event->thread_bytes >= event->size)
		th_sample_take(&sample, registers);
	th_thread_draw(record, next_interval(record), bytes);
}

/* Whether this block does not start the recording, and the countdown continues. */
static bool
continues_countdown(uint64_t bytes, size_t size)
{
	struct th_thread_record *record;

	if (!is_waiting() || getpid() != first.process)
		return false;
	record = th_thread_record();
	if (!record)
		return false;
	if (!record->has_drawn && !first_draw(record, bytes, size))
		return true;
	first.begin();
	return false;
}

/*
 * A visit that records nothing.  Where a child that shares our memory (vfork) cannot be told from a
 * copy, it counts down for its parent, and leaves it a countdown that was drawn.
 */
static void
pass(uint64_t bytes)
{
	enum th_in_flight_state state = th_in_flight_state();
	struct th_thread_record *record = th_thread.record;
	bool is_drawn = keeps_countdowns || is_waiting() ||
			(state == TH_IN_FLIGHT_OPEN && !th_log_is_ours());

	if (!is_drawn)
		th_thread_postpone(state == TH_IN_FLIGHT_NOT_YET ? IDLE_BYTES : INT64_MAX);
	else if (record)
		th_thread_draw(record, next_interval(record), bytes);
	else
		th_thread_postpone(0);
}

__attribute__((noinline)) void
th_native_allocated(void *block, size_t size, enum th_alloc_function function)
{
	int saved_errno = errno;
	struct th_registers registers;
	uint64_t bytes;
	struct th_event_native_alloc event = {
		.size = size, .address = (uintptr_t)block, .function = function};

	if (!block) {
		th_thread.countdown += size;
		return;
	}
	/*
	 * A signal handler that interrupted the first lines of the guard: the exhausted countdown
	 * is about to be saved, and must not be restored below zero.
	 */
	if (th_thread.guard) {
		th_thread.countdown += size;
		th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
		th_log_count(TH_COUNTER_DROPPED_REENTERED, 1);
		return;
	}
	bytes = th_thread_native_bytes();
	th_guard_enter();
	if (continues_countdown(bytes, size)) {
		th_guard_leave();
		errno = saved_errno;
		return;
	}
	if (th_in_flight_begin()) {
		th_registers_here(&registers);
		visit(&event, bytes, &registers);
		th_in_flight_end();
		th_sample_tick_end();
	} else {
		pass(bytes);
	}
	th_guard_leave();
	errno = saved_errno;
}

uint64_t
th_native_unlink(void *block)
{
	uint64_t sample;
	int saved_errno = errno;

	th_guard_enter();
	sample = th_live_blocks_remove((uintptr_t)block);
	if (sample)
		probe_free((uintptr_t)block);
	th_guard_leave();
	errno = saved_errno;
	return sample;
}

void
th_native_freed(uint64_t sample)
{
	struct th_thread_record *record = th_thread.record;
	struct th_event_native_free event = {
		.sample = sample, .thread = record ? record->id : 0};

	if (!sample || sample == SAMPLE_PENDING || th_in_flight_state() != TH_IN_FLIGHT_OPEN)
		return;
	/*
	 * A signal handler that allocates must not wait for the log to grow in the interrupted
	 * code.
	 */
	th_guard_enter();
	/* A thread that runs Cleaners may have no sample of its own, and is recognized by its name. */
	event.time = th_clock_now();
	if (record && !record->logged)
		th_thread_log(record, event.time);
	th_log_append(TH_EVENT_NATIVE_FREE, &event, NULL, 0);
	th_guard_leave();
}

__attribute__((noinline)) void
th_native_reused(void *block)
{
	int saved_errno = errno;
	uint64_t sample = th_native_unlink(block);

	if (sample) {
		th_log_count(TH_COUNTER_LIVE_REUSED, 1);
		th_native_freed(sample);
	}
	errno = saved_errno;
}

void
th_native_relink(void *block, uint64_t sample)
{
	if (!sample)
		return;
	th_guard_enter();
	if (!th_live_blocks_insert((uintptr_t)block, sample))
		th_log_count(TH_COUNTER_LIVE_TABLE_FULL, 1);
	th_guard_leave();
}
