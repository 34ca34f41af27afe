/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What native code takes from the VM and gives back: exact counts by kind, and samples with stacks.
 *
 * Each take is recorded with a probability of 2^-level that is known before it is drawn: the first
 * takes of a caller (kind and return address) always, then one in 8, in 64, in TH_LEDGER_SAMPLED, and
 * fewer if they come too fast for all callers together.  So few references of a rare caller are all
 * seen, and frequent ones cost little.  The end of a recorded take is recorded: what is held is in the
 * table of sampled blocks (live_blocks.h), under keys that are no addresses.
 *
 * Called by wrappers of JNI functions (functions.c), on the thread that calls JNI, not under the guard.
 */
#ifndef TH_JVMTI_LEDGER_TAKES_H
#define TH_JVMTI_LEDGER_TAKES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/ledger/callers.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/thread.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"
#include "unify/shared/log_format.h"

#define TH_TAKES_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A thread's part; it stays with the thread's record.  Written by the thread, read by any. */
struct th_takes_thread {
	struct th_takes_thread *next; /* all, newest first; never removed */
	uint64_t random;
	uint32_t generation;               /* of the ledger, to which the state below belongs */
	uint32_t id;                       /* of the thread */
	uint32_t criticals;                /* critical sections that the thread is in */
	uint32_t monitors;                 /* entered and not left */
	struct th_caller *critical_caller; /* of the outermost critical section */
	uint64_t critical_begun;           /* coarse clock, ns: the same */
	/* By kind; since the thread's record was made. */
	uint64_t taken[TH_LEDGER_KINDS];
	uint64_t given[TH_LEDGER_KINDS];
	uint64_t duration[TH_LEDGER_KINDS]; /* ns in critical sections */
	uint64_t longest[TH_LEDGER_KINDS];
};

/* A take that is recorded. */
struct th_take {
	struct th_takes_thread *thread;
	struct th_caller *caller;
	enum th_ledger_kind kind;
	uint32_t level; /* the probability is 2^-level */
	uint32_t stack;
	uint32_t type; /* class id of the object; set by the wrapper, 0 = not known */
};

/* How often the ledger was switched on after off; 0: it is off. */
extern uint32_t th_takes_generation __attribute__((visibility("hidden"))); /* atomic */

/* Whether calls are followed. [any] */
static inline bool
th_takes_follow(void)
{
	return TH_TAKES_UNLIKELY(th_load_relaxed(&th_takes_generation));
}

/* The calling thread's part, if it has called since the ledger is on; else NULL. [any] */
static inline struct th_takes_thread *
th_takes_joined(void)
{
	struct th_takes_thread *thread = th_thread.ledger;

	return thread && thread->generation == th_load_relaxed(&th_takes_generation) &&
			       !th_thread.guard
		       ? thread
		       : NULL;
}

/* The calling thread's part; NULL: its calls are not followed. [any] */
struct th_takes_thread *th_takes_own(void);

static inline bool
th_takes_is_critical(enum th_ledger_kind kind)
{
	return kind == TH_LEDGER_CRITICAL || kind == TH_LEDGER_STRING_CRITICAL;
}

/* Only the thread itself writes its counts. */
static inline void
th_takes_count(uint64_t *counter, uint64_t more)
{
	th_store_relaxed(counter, *counter + more);
}

/*
 * The key of a reference or an address, of which the low 58 bits count, by its kind.  Four times the
 * address: references are 8 bytes apart, and must not share bits of the filter. [any]
 */
static inline uint64_t
th_takes_key_of(enum th_ledger_kind kind, uintptr_t address)
{
	const uint64_t low = (UINT64_C(1) << TH_LIVE_BLOCKS_KEY_SHIFT) - 1;

	return (uint64_t)kind << TH_LIVE_BLOCKS_KEY_SHIFT | (address << 2 & low);
}

/* False: no recorded take with that key is held.  True: look it up. [any] */
static inline bool
th_takes_may_hold(uint64_t key)
{
	return th_live_blocks_may_hold((const void *)key);
}

/*
 * The key of what is taken.  Several threads may have the same array in a critical section, and
 * monitors have no address: these keys contain the thread.  Native code leaves monitors in the reverse
 * order. [any]
 */
static inline uint64_t
th_takes_key(const struct th_takes_thread *thread, enum th_ledger_kind kind, uintptr_t address)
{
	if (kind == TH_LEDGER_MONITOR)
		address = (uintptr_t)thread->id << 24 | (thread->monitors & 0xffffff);
	else if (th_takes_is_critical(kind))
		address = th_hash_mix(address ^ (uint64_t)thread->id << 48);
	return th_takes_key_of(kind, address);
}

/*
 * Switches on (`interval` TH_LEDGER_EXACT or TH_LEDGER_SAMPLED) and off; on after off forgets what was
 * held.  `env`: NULL only to switch off, and what is held then stays followed.  [agent-thread], with
 * NULL [any]
 */
void th_takes_switch(JNIEnv *env, uint32_t interval);

/*
 * Draws before the call that takes: whether it is recorded, with the probability that `skip` of its
 * caller stands for. [any]
 */
static inline bool
th_takes_draw(struct th_takes_thread *thread, uint64_t skip)
{
	/* A linear congruential generator (Knuth, MMIX), of which the high bits decide. */
	thread->random = thread->random * UINT64_C(6364136223846793005) +
			 UINT64_C(1442695040888963407);
	return TH_TAKES_UNLIKELY(thread->random >= skip);
}

/*
 * Captures the stack of the caller of JNI, before the call; false: it has none, and the take is not
 * recorded. [any]
 */
bool th_take_sample(struct th_take *take);

/*
 * After the call: logs a take that has a stack.  Returns the id of the sample, 0 = none.  `address`:
 * what JNI returned. [any]
 */
uint64_t th_take_log(const struct th_take *take, uintptr_t address);

/* A local reference whose frame has ended is not given back by hand: its address comes again. [any] */
void th_takes_end_reused(uint64_t key);

/*
 * After a call that took `address`; monitors: any number.  `sampled`: it has a stack, NULL = none.
 * Returns the id of the sample, 0 = not sampled. [any]
 */
static inline uint64_t
th_take_end(struct th_takes_thread *thread, enum th_ledger_kind kind, uintptr_t address,
	const struct th_take *sampled)
{
	th_takes_count(&thread->taken[kind], 1);
	if (kind == TH_LEDGER_MONITOR)
		thread->monitors++;
	if (th_takes_is_critical(kind) && !thread->criticals++)
		thread->critical_begun = th_clock_read(CLOCK_MONOTONIC_COARSE);
	if (TH_TAKES_UNLIKELY(sampled))
		return th_take_log(sampled, address);
	if (kind == TH_LEDGER_LOCAL && th_takes_may_hold(th_takes_key(thread, kind, address)))
		th_takes_end_reused(th_takes_key(thread, kind, address));
	return 0;
}

/* A critical section begins, unless the thread is in one; before the call. [any] */
static inline void
th_takes_begin_critical(
	struct th_takes_thread *thread, enum th_ledger_kind kind, struct th_caller *caller)
{
	if (th_takes_is_critical(kind) && !thread->criticals)
		thread->critical_caller = caller;
}

/*
 * Before the call that gives `address` back, after which another thread may get it; monitors and
 * critical sections: after it. [any]
 */
void th_take_give(enum th_ledger_kind kind, uintptr_t address);

/* The same in the frequent case: what is not recorded, and no section.  False: not done. [any] */
static inline bool
th_take_gives(enum th_ledger_kind kind, uintptr_t address)
{
	struct th_takes_thread *thread = th_takes_joined();

	if (!thread || th_takes_may_hold(th_takes_key(thread, kind, address)))
		return false;
	th_takes_count(&thread->given[kind], 1);
	return true;
}

/* Before elements are copied back, but not released. [any] */
void th_take_commit(uintptr_t address);

/*
 * Follows a new direct buffer of native code, recorded as `sample`, by a weak reference: nothing gives it
 * back but its collection.  `jni`: functions that are not wrapped.  Beyond 4,096 buffers are not followed, and
 * count as held.  On the thread that has created it. [jvmti]
 */
void th_takes_follow_buffer(
	const struct JNINativeInterface_ *jni, JNIEnv *env, jobject buffer, uint64_t sample);

/*
 * Calls `visit` with the reference or address and the sample of each recorded take of a kind that is
 * held, but monitors and critical sections. [any]
 */
void th_takes_each(enum th_ledger_kind kind, th_live_blocks_visit *visit, void *data);

/* Logs those that were collected; once a second. [agent-thread] */
void th_takes_log_buffers(JNIEnv *env);

/* Writes the counts that have changed, and adapts the rate; once a second. [agent-thread] */
void th_takes_log(void);

#endif
