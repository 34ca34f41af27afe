/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations whose names state their memory order.  They work on plain fields, so that
 * structures shared with the tool or with assembly need no _Atomic in their declarations.
 */
#ifndef TH_UNIFY_BASE_ATOMIC_H
#define TH_UNIFY_BASE_ATOMIC_H

#include <sched.h>
#include <stdbool.h>

#define th_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define th_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define th_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define th_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define th_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define th_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define th_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define th_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define th_exchange_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
/* On failure *expected is set to the value found, read with acquire order. */
#define th_cas_acq_rel(p, expected, v) \
	__atomic_compare_exchange_n(   \
		(p), (expected), (v), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* The processor's hint for spin loops. */
static inline void
th_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * A spin lock for critical sections of a few dozen instructions without calls.  The acquire of
 * th_lock pairs with the release of th_unlock.
 */
struct th_spinlock {
	unsigned char held;
};

static inline bool
th_trylock(struct th_spinlock *lock)
{
	return !th_exchange_acquire(&lock->held, 1);
}

/* After this many spins the holder is assumed to wait for a processor itself. */
#define TH_LOCK_SPINS 64

/*
 * Tries at most `turns` times; false: not taken.  Yields to a preempted holder: without the
 * yield one wait in 100,000 failed on two busy processors.
 */
static inline bool
th_lock_bounded(struct th_spinlock *lock, unsigned turns)
{
	for (unsigned turn = 0; !th_trylock(lock); turn++) {
		if (turn == turns)
			return false;
		if (turn % TH_LOCK_SPINS == TH_LOCK_SPINS - 1)
			sched_yield();
		else
			th_relax();
	}
	return true;
}

static inline void
th_unlock(struct th_spinlock *lock)
{
	th_store_release(&lock->held, 0);
}

#endif
