/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frequent case, a take that is not drawn and its end, is inlined into the wrappers: two counts of
 * the thread, one draw, and one look at each of two tables.  A drawn one captures its stack before JNI is
 * called, so that a critical section does not become longer, and is logged after it.
 */
#include "jvmti/ledger/takes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "jvmti/vm/references.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/sample.h"
#include "unify/shared/clock.h"

#define SLOW __attribute__((noinline, cold))
/* Recorded takes held above which new ones are as those of a frequent caller. */
#define HELD_MANY 65536
/* Direct buffers followed; each weak reference costs a collection some 0.1 us. */
#define BUFFERS_MAX 4096

uint32_t th_takes_generation;

static struct {
	uint32_t generations;            /* agent thread: so far */
	struct th_takes_thread *threads; /* atomic; all, newest first */
	uint32_t held;                   /* atomic: recorded takes in the table, about */
	uint32_t buffers;                /* atomic: direct buffers followed */
	struct th_event_ledger_count logged[TH_LEDGER_KINDS]; /* agent thread */
} takes;

/* Threads */

static struct th_takes_thread *
create_thread(struct th_thread_record *record)
{
	static struct th_takes_thread *slab;
	static uint32_t slab_left;
	static struct th_spinlock lock;
	const uint32_t count = 16384 / sizeof(struct th_takes_thread);
	struct th_takes_thread *thread = NULL;

	if (!th_lock_bounded(&lock))
		return NULL;
	if (!slab_left) {
		slab = th_memory_map(count * sizeof(*slab));
		slab_left = slab ? count : 0;
	}
	if (slab_left) {
		slab_left--;
		thread = slab++;
		thread->next = takes.threads;
		record->ledger = thread;
		/* Pairs with the acquire in th_takes_log(). */
		th_store_release(&takes.threads, thread);
	}
	th_unlock(&lock);
	return thread;
}

/*
 * Of a thread without a record, or that has not called while this generation was on: what it entered
 * and left before is not known.
 */
static struct th_takes_thread *
join(struct th_thread_record *record, uint32_t generation)
{
	struct th_takes_thread *thread = record->ledger ? record->ledger
							: create_thread(record);

	if (!thread)
		return NULL;
	thread->id = record->id;
	thread->generation = generation;
	thread->random = th_hash_mix(record->id) | 1;
	thread->criticals = 0;
	thread->monitors = 0;
	return thread;
}

SLOW struct th_takes_thread *
th_takes_own(void)
{
	uint32_t generation = th_load_relaxed(&th_takes_generation);
	struct th_thread_record *record;

	if (th_thread.guard || !generation || th_takes_joined())
		return th_takes_joined();
	th_guard_enter();
	record = th_thread_record();
	th_thread.ledger = record ? join(record, generation) : NULL;
	th_guard_leave();
	return th_thread.ledger;
}

/* What is held */

/* Under the guard. */
static bool
put(uint64_t key, uint64_t sample)
{
	bool is_put = th_live_blocks_insert(key, sample);

	th_add_relaxed(&takes.held, is_put);
	return is_put;
}

/* Removes a key and returns its sample; 0: it is not held. */
static uint64_t
take(uint64_t key)
{
	uint64_t sample;

	if (!th_takes_may_hold(key))
		return 0;
	th_guard_enter();
	sample = th_live_blocks_remove(key);
	th_guard_leave();
	th_add_relaxed(&takes.held, sample ? UINT32_MAX : 0);
	return sample;
}

struct visit {
	enum th_ledger_kind kind;
	th_live_blocks_visit *visit;
	void *data;
};

static void
visit_kind(uintptr_t key, uint64_t sample, void *data)
{
	const struct visit *visit = data;

	if (key >> TH_LIVE_BLOCKS_KEY_SHIFT == visit->kind)
		visit->visit(key << 4 >> 6, sample, visit->data);
}

void
th_takes_each(enum th_ledger_kind kind, th_live_blocks_visit *visit, void *data)
{
	struct visit each = {kind, visit, data};

	th_live_blocks_each(visit_kind, &each);
}

/* Takes */

SLOW bool
th_take_sample(struct th_take *take)
{
	int saved_errno = errno;
	struct th_registers registers;

	th_registers_here(&registers);
	th_guard_enter();
	if (th_in_flight_begin()) {
		take->stack = th_sample_stack(&registers, TH_HEAP_NATIVE, 0, th_clock_now());
		if (take->stack)
			th_thread_log(th_thread.record, th_clock_now());
		else
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	th_callers_drawn(take->caller, take->level, take->stack);
	errno = saved_errno;
	return take->stack != 0;
}

/* Records the end of a sample. */
SLOW static void
log_end(uint64_t sample, uint64_t duration, enum th_ledger_end how)
{
	int saved_errno = errno;
	const struct th_event_ledger_give event = {
		.time = th_clock_now(), .sample = sample, .duration = duration, .how = how};

	th_guard_enter();
	if (th_in_flight_begin()) {
		if (!th_log_append(TH_EVENT_LEDGER_GIVE, &event, NULL, 0))
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	errno = saved_errno;
}

SLOW uint64_t
th_take_log(const struct th_take *take, uintptr_t address)
{
	int saved_errno = errno;
	const struct th_event_ledger_take event = {
		.time = th_clock_now(),
		.keep = 1.0 / (double)(UINT64_C(1) << take->level),
		.thread = take->thread->id,
		.stack = take->stack,
		.type = take->type,
		.kind = take->kind,
	};
	const uint64_t key = th_takes_key(take->thread, take->kind, address);
	uint64_t id = 0;

	/* Switched off meanwhile. */
	if (!th_load_relaxed(&th_takes_generation))
		return 0;
	th_store_relaxed(&take->caller->type, take->type);
	th_takes_end_reused(key);
	th_guard_enter();
	if (th_in_flight_begin()) {
		id = th_log_append(TH_EVENT_LEDGER_TAKE, &event, NULL, 0);
		if (!id)
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		else if (take->kind != TH_LEDGER_DIRECT_BUFFER && !put(key, id))
			th_log_count(TH_COUNTER_LEDGER_FULL, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	if (th_load_relaxed(&takes.held) > HELD_MANY)
		th_callers_set_full(true);
	errno = saved_errno;
	return id;
}

void
th_takes_end_reused(uint64_t key)
{
	uint64_t earlier = take(key);

	if (earlier)
		log_end(earlier, 0, TH_LEDGER_REUSED);
}

/* Ends */

/*
 * A long section whose begin is not in the log gets the stack of another one that began with the same
 * call, or of its end if there is none.
 */
static SLOW void
log_long(const struct th_takes_thread *thread, enum th_ledger_kind kind, uint64_t duration)
{
	int saved_errno = errno;
	const struct th_caller *caller = thread->critical_caller;
	struct th_event_ledger_long event = {
		.duration = duration,
		.thread = thread->id,
		.stack = th_load_relaxed(&caller->stack),
		.type = th_load_relaxed(&caller->type),
		.kind = kind,
	};
	struct th_registers registers;

	th_registers_here(&registers);
	th_guard_enter();
	if (th_in_flight_begin()) {
		event.time = th_clock_now();
		if (!event.stack)
			event.stack =
				th_capture_stack(&registers, thread->id, TH_HEAP_NATIVE).id;
		if (!event.stack || !th_log_append(TH_EVENT_LEDGER_LONG, &event, NULL, 0))
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	errno = saved_errno;
}

/* Ns of the outermost critical section that ends now, 0: it is an inner one, or very short. */
static uint64_t
leave_critical(struct th_takes_thread *thread, enum th_ledger_kind kind)
{
	/* Entered before the ledger was on. */
	if (!thread->criticals || --thread->criticals)
		return 0;
	uint64_t duration = th_clock_read(CLOCK_MONOTONIC_COARSE) - thread->critical_begun;
	th_takes_count(&thread->duration[kind], duration);
	if (duration > thread->longest[kind])
		th_store_relaxed(&thread->longest[kind], duration);
	return duration;
}

static void
end_critical(struct th_takes_thread *thread, enum th_ledger_kind kind, uint64_t key)
{
	uint64_t duration = leave_critical(thread, kind);
	uint64_t sample = take(key);

	if (sample)
		log_end(sample, duration, TH_LEDGER_GIVEN_BACK);
	else if (TH_TAKES_UNLIKELY(duration >= TH_LEDGER_LONG_NS))
		log_long(thread, kind, duration);
}

static void
end_held(uint64_t key)
{
	uint64_t sample = take(key);

	if (TH_TAKES_UNLIKELY(sample))
		log_end(sample, 0, TH_LEDGER_GIVEN_BACK);
}

void
th_take_give(enum th_ledger_kind kind, uintptr_t address)
{
	struct th_takes_thread *thread = th_takes_own();

	if (!thread)
		return;
	uint64_t key = th_takes_key(thread, kind, address);
	th_takes_count(&thread->given[kind], 1);
	if (kind == TH_LEDGER_MONITOR && thread->monitors)
		thread->monitors--;
	if (th_takes_is_critical(kind))
		end_critical(thread, kind, key);
	else
		end_held(key);
}

void
th_take_commit(uintptr_t address)
{
	const uint64_t key = th_takes_key_of(TH_LEDGER_ELEMENTS, address);
	uint64_t found = take(key);

	if (!found)
		return;
	th_guard_enter();
	put(key, found);
	th_guard_leave();
	log_end(found, 0, TH_LEDGER_COMMITTED);
}

/* Direct buffers: their keys are weak references */

void
th_takes_follow_buffer(
	const struct JNINativeInterface_ *jni, JNIEnv *env, jobject buffer, uint64_t sample)
{
	jweak reference = NULL;

	th_guard_enter();
	if (th_add_relaxed(&takes.buffers, 1) < BUFFERS_MAX)
		reference = jni->NewWeakGlobalRef(env, buffer);
	if (reference &&
		put(th_takes_key_of(TH_LEDGER_DIRECT_BUFFER, (uintptr_t)reference), sample)) {
		th_add_relaxed(&th_references_own, 1);
	} else {
		if (reference)
			jni->DeleteWeakGlobalRef(env, reference);
		th_add_relaxed(&takes.buffers, -1);
		th_log_count(TH_COUNTER_LEDGER_FULL, 1);
	}
	th_guard_leave();
}

static void
drop_buffer(uintptr_t reference, uint64_t sample, void *env)
{
	(void)sample;
	take(th_takes_key_of(TH_LEDGER_DIRECT_BUFFER, reference));
	th_references_delete_weak(env, (jweak)reference);
	th_add_relaxed(&takes.buffers, -1);
}

static void
end_buffer(uintptr_t reference, uint64_t sample, void *data)
{
	JNIEnv *env = data;

	if (!(*env)->IsSameObject(env, (jweak)reference, NULL))
		return;
	drop_buffer(reference, sample, env);
	log_end(sample, 0, TH_LEDGER_DIED);
}

static void
each_buffer(JNIEnv *env, void (*visit)(uintptr_t reference, uint64_t sample, void *env))
{
	if (th_load_relaxed(&takes.buffers))
		th_takes_each(TH_LEDGER_DIRECT_BUFFER, visit, env);
}

void
th_takes_log_buffers(JNIEnv *env)
{
	each_buffer(env, end_buffer);
}

/* The agent thread */

static void
forget(uintptr_t key, uint64_t sample, void *data)
{
	(void)sample, (void)data;
	if (key >> TH_LIVE_BLOCKS_KEY_SHIFT)
		take(key);
}

static void
forget_held(JNIEnv *env)
{
	each_buffer(env, drop_buffer);
	th_live_blocks_each(forget, NULL);
}

void
th_takes_switch(JNIEnv *env, uint32_t interval)
{
	uint32_t generation = th_load_relaxed(&th_takes_generation);

	if (interval && !generation) {
		/* Of threads that took them while it was switched off. */
		forget_held(env);
		th_store_relaxed(&takes.held, 0);
		th_callers_clear();
		generation = ++takes.generations;
		memset(takes.logged, 0, sizeof(takes.logged));
	}
	th_callers_set_exact(interval == TH_LEDGER_EXACT);
	th_store_release(&th_takes_generation, interval ? generation : TH_LEDGER_OFF);
	if (!interval && env)
		forget_held(env);
}

static struct th_event_ledger_count
count_kind(enum th_ledger_kind kind)
{
	struct th_event_ledger_count sum = {.kind = kind};
	const struct th_takes_thread *thread = th_load_acquire(&takes.threads);

	for (; thread; thread = thread->next) {
		uint64_t longest = th_load_relaxed(&thread->longest[kind]);

		sum.taken += th_load_relaxed(&thread->taken[kind]);
		sum.given += th_load_relaxed(&thread->given[kind]);
		sum.duration += th_load_relaxed(&thread->duration[kind]);
		sum.longest = longest > sum.longest ? longest : sum.longest;
	}
	return sum;
}

void
th_takes_log(void)
{
	th_callers_adapt();
	th_callers_set_full(th_load_relaxed(&takes.held) > HELD_MANY);
	for (int kind = 1; kind < TH_LEDGER_KINDS; kind++) {
		struct th_event_ledger_count sum = count_kind((enum th_ledger_kind)kind);
		struct th_event_ledger_count *logged = &takes.logged[kind];

		if (sum.taken == logged->taken && sum.given == logged->given)
			continue;
		*logged = sum;
		sum.time = th_clock_now();
		th_log_append(TH_EVENT_LEDGER_COUNT, &sum, NULL, 0);
	}
}
