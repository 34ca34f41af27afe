/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frequent case is a take that is not drawn and its end: two counts of the thread, one draw and two
 * lookups in tables.  A drawn one captures its stack before JNI is called, so that a critical section
 * does not become longer, and is logged after it.
 */
#include "jvmti/ledger/takes.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "jvmti/ledger/callers.h"
#include "jvmti/ledger/held.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"
#include "unify/sample/capture.h"
#include "unify/sample/in_flight.h"
#include "unify/sample/throttle.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

#define SLOW __attribute__((noinline, cold))
/* Entries of the table above which new takes are as those of a frequent caller. */
#define HELD_MANY (TH_HELD_MAX / 2)

uint32_t th_takes_are_followed;

static struct {
	uint32_t interval;               /* atomic */
	uint32_t generation;             /* atomic: how often it was switched on after off */
	struct th_takes_thread *threads; /* atomic; all, newest first */
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

	if (!th_lock_bounded(&lock, 1u << 20))
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
 * The calling thread has no record yet, or one of a thread that has ended, or what it entered and left
 * meanwhile was not seen, because the ledger was off.
 */
static SLOW struct th_takes_thread *
join(void)
{
	struct th_takes_thread *thread = NULL;
	struct th_thread_record *record;

	th_guard_enter();
	record = th_thread_record();
	if (record) {
		thread = record->ledger ? record->ledger : create_thread(record);
		if (thread) {
			thread->id = record->id;
			thread->generation = th_load_relaxed(&takes.generation);
			thread->random = th_hash_mix(record->id) | 1;
			thread->criticals = 0;
			thread->monitors = 0;
		}
	}
	th_guard_leave();
	return thread;
}

static inline struct th_takes_thread *
own_thread(void)
{
	struct th_thread_record *record = th_thread.record;
	struct th_takes_thread *thread = record ? record->ledger : NULL;

	return thread && thread->id == record->id &&
			       thread->generation == th_load_relaxed(&takes.generation)
		       ? thread
		       : join();
}

static inline void
count(uint64_t *counter, uint64_t more)
{
	th_store_relaxed(counter, *counter + more);
}

/* The draw */

/* Of a linear congruential generator (Knuth, MMIX) only the high bits are used. */
static inline uint64_t
next_random(struct th_takes_thread *thread)
{
	thread->random = thread->random * UINT64_C(6364136223846793005) +
			 UINT64_C(1442695040888963407);
	return thread->random;
}

/* Whether a take of this caller is drawn. */
static inline bool
draw(struct th_takes_thread *thread, const struct th_caller *caller, uint32_t *level_ret)
{
	uint32_t level = 0;

	if (th_load_relaxed(&takes.interval) != TH_LEDGER_EXACT)
		level = th_callers_level(caller);
	if (th_held_count() > HELD_MANY && level < TH_CALLERS_FREQUENT)
		level = TH_CALLERS_FREQUENT;
	*level_ret = level;
	return !level || !(next_random(thread) >> (64 - level));
}

/* Takes */

/* Captures the stack of the caller of JNI. */
static SLOW void
sample(struct th_take *take, struct th_caller *caller)
{
	int saved_errno = errno;
	struct th_registers registers;

	th_registers_here(&registers);
	th_guard_enter();
	if (th_in_flight_begin()) {
		uint64_t begun = th_throttle_capture_begins(th_clock_now());

		take->stack =
			th_capture_stack(&registers, th_thread.record->id, TH_HEAP_NATIVE).id;
		th_throttle_capture_ends(begun, false);
		if (take->stack)
			th_thread_log_at(th_thread.record, th_clock_now());
		else
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	th_callers_drawn(caller, take->level, take->stack);
	errno = saved_errno;
}

void
th_take_begin(struct th_take *take, enum th_ledger_kind kind, uintptr_t caller)
{
	struct th_takes_thread *thread = own_thread();
	uint32_t number = th_callers_number(kind, caller);

	take->thread = thread;
	take->kind = kind;
	take->caller = number;
	take->stack = 0;
	take->type = 0;
	if (thread && draw(thread, &th_callers[number], &take->level))
		sample(take, &th_callers[number]);
}

static bool
is_critical(enum th_ledger_kind kind)
{
	return kind == TH_LEDGER_CRITICAL || kind == TH_LEDGER_STRING_CRITICAL;
}

/*
 * Several threads may have the same array in a critical section, and monitors have no address: these
 * keys contain the thread.  Native code leaves monitors in the reverse order.
 */
static uint64_t
key_of(const struct th_takes_thread *thread, enum th_ledger_kind kind, uintptr_t address)
{
	if (kind == TH_LEDGER_MONITOR)
		return th_held_key(
			kind, (uintptr_t)thread->id << 24 | (thread->monitors & 0xffffff));
	if (is_critical(kind))
		address = th_hash_mix(address ^ (uint64_t)thread->id << 48);
	return th_held_key(kind, address);
}

static SLOW uint64_t
log_take(const struct th_take *take, uint64_t key)
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
	uint64_t replaced = 0;
	uint64_t id = 0;

	th_store_relaxed(&th_callers[take->caller].type, take->type);
	th_guard_enter();
	if (th_in_flight_begin()) {
		id = th_log_append(TH_EVENT_LEDGER_TAKE, &event, NULL, 0);
		if (!id)
			th_log_count(TH_COUNTER_LEDGER_LOST, 1);
		else if (take->kind != TH_LEDGER_DIRECT_BUFFER &&
			 !th_held_put(key, id, &replaced))
			th_log_count(TH_COUNTER_LEDGER_FULL, 1);
		th_in_flight_end();
	}
	th_guard_leave();
	if (replaced)
		th_take_log_end(replaced, 0, TH_LEDGER_REUSED);
	errno = saved_errno;
	return id;
}

/* A local reference whose frame has ended is not given back by hand: its address comes again. */
static void
end_reused(uint64_t key)
{
	uint64_t earlier = th_held_take(key);

	if (earlier)
		th_take_log_end(earlier, 0, TH_LEDGER_REUSED);
}

uint64_t
th_take_end(struct th_take *take, uintptr_t address)
{
	struct th_takes_thread *thread = take->thread;

	if (!thread || !th_load_relaxed(&th_takes_are_followed))
		return 0;
	count(&thread->taken[take->kind], 1);
	if (take->kind == TH_LEDGER_MONITOR)
		thread->monitors++;
	if (is_critical(take->kind) && !thread->criticals++) {
		thread->critical_begun = th_clock_read(CLOCK_MONOTONIC_COARSE);
		thread->critical_caller = take->caller;
	}
	if (!take->stack && take->kind != TH_LEDGER_LOCAL)
		return 0;
	uint64_t key = key_of(thread, take->kind, address);
	if (!take->stack) {
		end_reused(key);
		return 0;
	}
	return log_take(take, key);
}

bool
th_takes_in_critical(const struct th_take *take)
{
	return take->thread && take->thread->criticals;
}

/* Ends */

SLOW void
th_take_log_end(uint64_t sample, uint64_t duration, enum th_ledger_end how)
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

/*
 * A long section whose begin is not in the log gets the stack of another one that began with the same
 * call, or of its end if there is none.
 */
static SLOW void
log_long(const struct th_takes_thread *thread, enum th_ledger_kind kind, uint64_t duration)
{
	int saved_errno = errno;
	const struct th_caller *caller = &th_callers[thread->critical_caller];
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
	count(&thread->duration[kind], duration);
	if (duration > thread->longest[kind])
		th_store_relaxed(&thread->longest[kind], duration);
	return duration;
}

void
th_take_give(enum th_ledger_kind kind, uintptr_t address)
{
	struct th_takes_thread *thread = own_thread();
	uint64_t duration = 0;

	if (!thread)
		return;
	count(&thread->given[kind], 1);
	uint64_t sample_id = th_held_take(key_of(thread, kind, address));
	if (kind == TH_LEDGER_MONITOR && thread->monitors)
		thread->monitors--;
	if (is_critical(kind))
		duration = leave_critical(thread, kind);
	if (sample_id)
		th_take_log_end(sample_id, duration, TH_LEDGER_GIVEN_BACK);
	else if (duration >= TH_LEDGER_LONG_NS)
		log_long(thread, kind, duration);
}

void
th_take_commit(uintptr_t address)
{
	uint64_t found = th_held_find(th_held_key(TH_LEDGER_ELEMENTS, address));

	if (found)
		th_take_log_end(found, 0, TH_LEDGER_COMMITTED);
}

/* The agent thread */

bool
th_takes_switch(uint32_t interval)
{
	if (interval && !takes.interval) {
		if (!th_callers_clear() || !th_held_init())
			return false;
		th_held_clear();
		th_store_relaxed(&takes.generation, takes.generation + 1);
		memset(takes.logged, 0, sizeof(takes.logged));
	}
	th_store_relaxed(&takes.interval, interval);
	/* The tables are there: a wrapper that sees this on another thread uses them. */
	th_store_release(&th_takes_are_followed, interval != TH_LEDGER_OFF);
	return true;
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
