/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and ends a recording: initializes the modules below in order, and closes the log after
 * all captures have ended.
 */
#include "unify/recording/recorder.h"

#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/log/module.h"
#include "unify/log/ring.h"
#include "unify/log/stack_log.h"
#include "unify/mapped/mapping.h"
#include "unify/recording/control.h"
#include "unify/recording/housekeeping.h"
#include "unify/resident/breakdown.h"
#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/native.h"
#include "unify/sample/stack_memo.h"
#include "unify/sample/thread.h"
#include "unify/sample/thread_starts.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"
#include "unify/unwind/unwind.h"

static struct {
	struct th_recorder_settings settings;
	uint32_t has_ended;                     /* atomic: th_recorder_end() was called */
	uint32_t teardowns[TH_TEARDOWN_CAUSES]; /* atomic: 1 = the log has this cause */
} recorder;

const struct th_recorder_settings *
th_recorder_settings(void)
{
	return &recorder.settings;
}

/* Start and reset */

void
th_recorder_wait(const struct th_recorder_settings *settings, void (*begin)(void))
{
	th_thread_seed(settings->seed);
	if (settings->heaps & 1u << TH_HEAP_NATIVE)
		th_native_wait(settings->limits.interval, begin);
	if (settings->heaps & 1u << TH_HEAP_MAPPED)
		th_mapping_wait(settings->seed, settings->limits.interval, begin);
}

void
th_recorder_start(const struct th_recorder_settings *settings)
{
	recorder.settings = *settings;
	th_throttle_start(&settings->limits);
	th_housekeeping_start(th_recorder_end);
	th_control_begin(settings->heaps, settings->seen);
	th_ring_on_thread(th_thread_is_alive);
	th_capture_start(settings->depth);
	th_breakdown_start(settings->heaps & 1u << TH_HEAP_MAPPED);
	th_in_flight_open();
	if (settings->seen & 1u << TH_HEAP_MAPPED)
		th_mapping_start(settings->seed);
	/*
	 * This thread may have allocated before, and then has no sample due for a long time.
	 * Not if it waited for its first sample, and has a countdown that was drawn.
	 */
	if (!th_thread.record || !th_thread.record->has_drawn)
		th_thread_postpone(0);
}

/* After exit() the destructor that sees the return of main runs as well. */
static bool
is_new_teardown(enum th_teardown_cause cause)
{
	uint32_t not_yet = 0;

	if (cause == TH_TEARDOWN_MAIN_RETURNED &&
		th_load_relaxed(&recorder.teardowns[TH_TEARDOWN_EXIT]))
		return false;
	return cause == TH_TEARDOWN_SIGNAL ||
	       th_cas_acq_rel(&recorder.teardowns[cause], &not_yet, 1);
}

void
th_teardown_begins(enum th_teardown_cause cause, const char *detail)
{
	struct th_event_teardown event = {.cause = cause};
	struct th_log_part part = th_log_text(detail);

	/* Keeps the log from being closed meanwhile. */
	if (!th_in_flight_begin())
		return;
	if (is_new_teardown(cause)) {
		th_mapping_log_use();
		th_thread_starts_log();
		event.time = th_clock_now();
		th_log_append(TH_EVENT_TEARDOWN, &event, &part, 1);
	}
	th_in_flight_end();
}

void
th_recorder_end(void)
{
	uint32_t not_yet = 0;

	if (!th_cas_acq_rel(&recorder.has_ended, &not_yet, 1))
		return;
	th_housekeeping_run();
	th_in_flight_close();
	th_recorder_refresh();
	th_mapping_log_use();
	th_thread_log_bytes(true);
	th_log_close();
}

void
th_recorder_refresh(void)
{
	th_log_set_counter(TH_COUNTER_SELF_MEMORY_BYTES, th_memory_resident());
	th_recorder_look();
}

void
th_recorder_look(void)
{
	th_log_set_counter(TH_COUNTER_UNWIND_FRAME_POINTER, th_unwind_frame_pointer_steps());
	th_log_set_counter(TH_COUNTER_PROCESS_CPU_NS, th_clock_read(CLOCK_PROCESS_CPUTIME_ID));
	th_thread_starts_log();
}

static bool
is_recording(void)
{
	const struct th_log_header *header = th_log_header();

	return header && th_load_acquire(&header->state) == TH_LOG_RECORDING;
}

/* What another recording, of this process or of a forked child, begins without. */
static void
forget(void)
{
	th_stack_memo_reset();
	th_throttle_reset();
	th_housekeeping_reset();
	th_control_reset();
	th_stack_log_reset();
	recorder.has_ended = 0;
	memset(recorder.teardowns, 0, sizeof(recorder.teardowns));
}

bool
th_recorder_restart(void)
{
	if (!th_load_acquire(&recorder.has_ended) || is_recording())
		return false;
	/* A capture in flight may still write to the log. */
	if (!th_in_flight_drain() || !th_log_retire())
		return false;
	th_in_flight_restart();
	forget();
	th_breakdown_restart();
	th_live_blocks_clear();
	th_mapping_restart();
	th_thread_restart();
	return true;
}

void
th_recorder_reset(void)
{
	th_in_flight_reset();
	th_capture_reset();
	forget();
	th_breakdown_reset();
	th_live_blocks_reset();
	th_mapping_reset();
	th_module_reset();
	th_thread_reset();
}
