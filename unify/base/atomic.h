/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations whose names state their memory order.  They work on plain fields, so that
 * structures shared with the tool or with assembly need no _Atomic in their declarations.
 */
#ifndef TH_UNIFY_BASE_ATOMIC_H
#define TH_UNIFY_BASE_ATOMIC_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/clock.h"

#define th_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define th_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define th_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define th_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define th_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define th_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define th_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
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
 * How long to wait, at least; a longer wait means that the holder is stopped, and the caller defers its
 * change, or drops and counts it.  Longer than a time slice of the scheduler (3 to 4 ms): a holder that
 * has only lost its processor gets it back meanwhile.
 */
#define TH_LOCK_NS UINT64_C(20000000)
/* The end of the wait if the clock stands still: a host may replace it. */
#define TH_LOCK_ROUNDS (1u << 14)

static inline bool
th_lock_spin(struct th_spinlock *lock)
{
	for (int spin = 0; spin < TH_LOCK_SPINS; spin++) {
		if (th_trylock(lock))
			return true;
		th_relax();
	}
	return false;
}

/*
 * Waits for `ns`, and then fails.  The time includes that without a processor, in which the holder has
 * not run either if a cgroup is throttled.  Yields once at least, and tries again after it: without the
 * yield one wait in 100,000 failed on two busy processors.  Reads the clock only after the first spins.
 */
static inline bool
th_lock_within(struct th_spinlock *lock, uint64_t ns)
{
	uint64_t start = 0;

	for (uint32_t round = 0; !th_lock_spin(lock); round++) {
		uint64_t now = th_clock_now();

		if (!start)
			start = now;
		else if (now - start >= ns || round == TH_LOCK_ROUNDS)
			return false;
		sched_yield();
	}
	return true;
}

/* Waits for TH_LOCK_NS. */
static inline bool
th_lock_bounded(struct th_spinlock *lock)
{
	return th_lock_within(lock, TH_LOCK_NS);
}

static inline void
th_unlock(struct th_spinlock *lock)
{
	th_store_release(&lock->held, 0);
}

#endif
