/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives the recorder without malloc (recorder_fixture.h), and finds STACK and MODULE records
 * in the log for assertions on frames.
 */
#include "tests/unit/recording/recorder_fixture.h"

#include <limits.h>
#include <string.h>

#include "unify/log/module.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/native.h"
#include "unify/sample/sample.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"
#include "unify/unwind/unwind.h"
#include "unify/shared/heaps.h"

void
recorder_fixture_init(void)
{
	assert_true(th_module_init());
	th_module_find((uintptr_t)recorder_fixture_init)->is_self = false;
	th_thread_init(20260101);
	/* No change is deferred: on a busy machine other threads may be preempted for long. */
	th_live_blocks_wait(UINT_MAX);
}

void
recorder_start(uint64_t interval, uint32_t depth, uint64_t max_bytes)
{
	const struct th_recorder_settings settings = {.limits.interval = interval,
		.depth = depth,
		.heaps = TH_HEAPS_ALL,
		.seen = TH_HEAPS_ALL};
	log_fixture_open(max_bytes);
	th_guard_enter();
	th_recorder_start(&settings);
	th_guard_leave();
}

void
recorder_check_sum(void)
{
	static const enum th_log_counter outcomes[] = {TH_COUNTER_NATIVE_SAMPLES,
		TH_COUNTER_JAVA_SAMPLES, TH_COUNTER_MAPPED_SAMPLES, TH_COUNTER_DROPPED_LOG_FULL,
		TH_COUNTER_DROPPED_STACKS_FULL, TH_COUNTER_DROPPED_NO_SCRATCH,
		TH_COUNTER_DROPPED_REENTERED, TH_COUNTER_DROPPED_STOPPED,
		TH_COUNTER_DROPPED_NO_SPACE, TH_COUNTER_DROPPED_LOG_UNREACHABLE,
		TH_COUNTER_DROPPED_BUSY};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		sum += recorder_counter(outcomes[i]);
	assert_int_equal(recorder_counter(TH_COUNTER_SAMPLES_DUE), sum);
}

int
recorder_tear_down(void **state)
{
	if (th_log_header())
		recorder_check_sum();
	th_recorder_reset();
	return log_fixture_teardown(state);
}

void *
recorder_block(uintptr_t number)
{
	return (void *)(0x10000 + 16 * number);
}

NOINLINE void
recorder_allocate(void *block, size_t size)
{
	if (th_countdown_take(&th_thread.countdown, size))
		th_native_allocated(block, size, TH_FUNCTION_MALLOC);
	STAY();
}

static uint64_t
append_java(struct th_sample *sample)
{
	return th_log_append_sample(
		TH_EVENT_JAVA_ALLOC, sample->event, TH_COUNTER_JAVA_SAMPLES);
}

static uint64_t
take_java(const struct th_event_java_alloc *object)
{
	static const struct th_sample_lane lane = {.heap = TH_HEAP_JAVA, .append = append_java};
	struct th_event_java_alloc event = *object;
	struct th_sample sample = {.lane = &lane,
		.record = th_thread_record(),
		.now = th_clock_now(),
		.event = (struct th_event_alloc *)&event};
	struct th_registers registers;
	uint64_t id;

	if (!th_in_flight_begin()) {
		th_sample_drop();
		return 0;
	}
	th_registers_here(&registers);
	th_sample_tick(sample.now);
	id = th_sample_take(&sample, &registers);
	th_in_flight_end();
	return id;
}

NOINLINE uint64_t
recorder_java(const struct th_event_java_alloc *object)
{
	uint64_t sample;

	th_guard_enter();
	sample = take_java(object);
	th_guard_leave();
	return sample;
}

void
recorder_release(void *block)
{
	if (th_live_blocks_may_hold(block))
		th_native_freed(th_native_unlink(block));
}

uint64_t
recorder_counter(enum th_log_counter which)
{
	return th_log_header()->counters[which];
}

uint32_t
recorder_frames(const struct log_image *image, uint32_t id, const uint64_t **frames_ret,
	uint32_t *flags_ret)
{
	for (size_t i = 0; i < image->count; i++) {
		const struct th_event_stack *stack = (const void *)image->records[i].bytes;
		const size_t count_at = sizeof(struct th_event_stack);
		uint32_t count;

		if (image->records[i].type != TH_EVENT_STACK || stack->stack != id)
			continue;
		memcpy(&count, image->records[i].bytes + count_at, sizeof(count));
		/* The elements are aligned to 8 after the count. */
		*frames_ret = (const uint64_t *)(const void *)(image->records[i].bytes +
							       ((count_at + 4 + 7) & ~7u));
		*flags_ret = stack->flags;
		return count;
	}
	fail_msg("no STACK record of %u", id);
	return 0;
}

/* Load bias of a module, from its MODULE record. */
static uint64_t
bias_of(const struct log_image *image, uint32_t module)
{
	for (size_t i = 0; i < log_image_count(image, TH_EVENT_MODULE); i++) {
		const struct th_event_module *event = log_image_get(image, TH_EVENT_MODULE, i);

		if (event->module == module)
			return event->bias;
	}
	fail_msg("no MODULE record of %u", module);
	return 0;
}

bool
recorder_is_in(
	const struct log_image *image, uint64_t frame, const void *function, size_t bytes)
{
	uint64_t address;

	if (th_frame_kind(frame) != TH_FRAME_NATIVE || !th_frame_module(frame))
		return false;
	address = th_frame_offset(frame) + bias_of(image, th_frame_module(frame));
	return address - (uint64_t)(uintptr_t)function < bytes;
}
