/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline of a due sample (sample.h).  Each step that drops the sample has counted it when
 * th_sample_take() returns 0.
 */
#include "unify/sample/sample.h"

#include <stddef.h>

#include "unify/log/log.h"
#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/stack_memo.h"
#include "unify/sample/thread.h"
#include "unify/sample/throttle.h"
#include "unify/shared/hash.h"

#define SAME_FIELD(event, field, name)                                                    \
	_Static_assert(                                                                   \
		offsetof(struct event, name) == offsetof(struct th_event_alloc, field) && \
			sizeof(((struct event *)0)->name) ==                              \
				sizeof(((struct th_event_alloc *)0)->field),              \
		"the events of all heaps begin alike")
#define SAME_FIELDS(event, bytes_name)         \
	SAME_FIELD(event, time, time);         \
	SAME_FIELD(event, size, size);         \
	SAME_FIELD(event, interval, interval); \
	SAME_FIELD(event, bytes, bytes_name);  \
	SAME_FIELD(event, thread, thread);     \
	SAME_FIELD(event, stack, stack)
SAME_FIELDS(th_event_native_alloc, thread_bytes);
SAME_FIELDS(th_event_java_alloc, thread_bytes);
SAME_FIELDS(th_event_mapped_alloc, total_bytes);

static struct {
	void (*run)(uint64_t now);
	void (*finish)(void);
} tick;

void
th_sample_on_tick(void (*run)(uint64_t now), void (*finish)(void))
{
	tick.run = run;
	tick.finish = finish;
}

void
th_sample_tick(uint64_t now)
{
	if (tick.run)
		tick.run(now);
}

void
th_sample_tick_end(void)
{
	if (tick.finish)
		tick.finish();
}

/* 0: its stack is captured in any case. */
static uint64_t
key_of(const struct th_sample *sample, const struct th_registers *registers)
{
	if (!th_throttle_is_adaptive())
		return 0;
	return th_hash_mix(
		sample->lane->key ? sample->lane->key(sample) : th_capture_key(registers));
}

static struct th_remembered
capture(const struct th_sample *sample, const struct th_registers *registers)
{
	return (struct th_remembered){
		.detail = sample->lane->detail ? sample->lane->detail(sample) : 0,
		.stack = th_capture_stack(registers, sample->record->id, sample->lane->heap),
	};
}

/* Sets what a walk, or an earlier one, tells. */
static void
set_stack(struct th_sample *sample, const struct th_registers *registers)
{
	uint64_t key = key_of(sample, registers);
	struct th_remembered found;

	if (!th_stack_memo_find(key, th_hash_mix(key ^ sample->now), &found)) {
		found = capture(sample, registers);
		th_stack_memo_learn(key, &found);
	}
	sample->event->stack = found.stack.id;
	sample->detail = found.detail;
}

uint64_t
th_sample_take(struct th_sample *sample, const struct th_registers *registers)
{
	struct th_event_alloc *event = sample->event;
	uint64_t id;

	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	uint64_t begun = th_throttle_capture_begins(sample->now);
	event->time = sample->now;
	event->thread = sample->record ? sample->record->id : 0;
	if (sample->lane->prepare)
		sample->lane->prepare(sample);
	if (registers)
		set_stack(sample, registers);
	else
		event->stack = th_capture_caller(sample->caller);
	if (event->stack && registers)
		th_thread_log(sample->record, sample->now);
	id = event->stack ? sample->lane->append(sample) : 0;
	th_throttle_capture_ends(begun, true);
	return id;
}

uint32_t
th_sample_stack(
	const struct th_registers *registers, enum th_heap heap, uint64_t salt, uint64_t now)
{
	const struct th_thread_record *record = th_thread_record();
	uint64_t begun = th_throttle_capture_begins(now);
	uint64_t key = salt && th_throttle_is_adaptive() ? th_capture_key(registers) : 0;
	struct th_remembered found;

	key = key ? th_hash_mix(key ^ salt) : 0;
	if (!th_stack_memo_find(key, th_hash_mix(key ^ now), &found)) {
		found = (struct th_remembered){
			.stack = th_capture_stack(registers, record ? record->id : 0, heap)};
		th_stack_memo_learn(key, &found);
	}
	th_throttle_capture_ends(begun, false);
	return found.stack.id;
}

void
th_sample_drop(void)
{
	th_log_count(TH_COUNTER_SAMPLES_DUE, 1);
	th_log_count(TH_COUNTER_DROPPED_STOPPED, 1);
}
