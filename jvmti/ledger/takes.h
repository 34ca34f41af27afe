/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What native code takes from the VM and gives back: exact counts by kind, and samples with stacks.
 *
 * Each take is recorded with a probability of 2^-level that is known before it is drawn: the first
 * takes of a caller (kind and return address) always, then one in 8, in 64, in TH_LEDGER_SAMPLED, and
 * fewer if they come too fast for all callers together.  So few references of a rare caller are all
 * seen, and frequent ones cost little.  The end of a recorded take is recorded.
 *
 * Called by wrappers of JNI functions (functions.c), on the thread that calls JNI, not under the guard.
 */
#ifndef TH_JVMTI_LEDGER_TAKES_H
#define TH_JVMTI_LEDGER_TAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/thread.h"
#include "unify/shared/log_format.h"

/* A thread's part; it stays with the thread's record.  Written by the thread, read by any. */
struct th_takes_thread {
	struct th_takes_thread *next; /* all, newest first; never removed */
	uint64_t taken[TH_LEDGER_KINDS];
	uint64_t given[TH_LEDGER_KINDS];
	uint64_t duration[TH_LEDGER_KINDS]; /* ns in critical sections */
	uint64_t longest[TH_LEDGER_KINDS];
	uint64_t random;
	uint64_t critical_begun;  /* coarse clock, ns: the outermost one */
	uint32_t critical_caller; /* of the outermost one, struct th_take.caller */
	uint32_t criticals;       /* critical sections that the thread is in */
	uint32_t monitors;        /* entered and not left */
	uint32_t id;              /* of the thread whose state the last three are */
	uint32_t generation;      /* of the ledger, in which they count */
};

/* A take in progress. */
struct th_take {
	struct th_takes_thread *thread; /* NULL: not counted */
	enum th_ledger_kind kind;
	uint32_t type;   /* class id of the object; set by the caller if it is sampled */
	uint32_t level;  /* the probability is 2^-level */
	uint32_t caller; /* th_callers_number() */
	uint32_t stack;  /* 0: not sampled */
};

/* Whether the calling thread's calls are followed. */
extern uint32_t th_takes_are_followed; /* atomic */
static inline bool
th_takes_follow(void)
{
	return __builtin_expect(
		       __atomic_load_n(&th_takes_are_followed, __ATOMIC_RELAXED) != 0, 0) &&
	       !th_thread.guard;
}

/*
 * Switches on (`interval` TH_LEDGER_EXACT or TH_LEDGER_SAMPLED) and off; on after off forgets what was
 * held.  False: out of memory. [agent-thread]
 */
bool th_takes_switch(uint32_t interval);

/*
 * Before the call that takes: draws, and captures the stack of a take that is drawn.  `caller`: the
 * return address of the JNI call. [any]
 */
void th_take_begin(struct th_take *take, enum th_ledger_kind kind, uintptr_t caller);

/*
 * After a call that succeeded.  Returns the id of the sample, 0 = not sampled.  `address`: what JNI
 * returned, any number for monitors. [any]
 */
uint64_t th_take_end(struct th_take *take, uintptr_t address);

/* Before the call that gives `address` back; monitors: after it. [any] */
void th_take_give(enum th_ledger_kind kind, uintptr_t address);

/* Before elements are copied back, but not released. [any] */
void th_take_commit(uintptr_t address);

/* Records the end of a sample. [any] */
void th_take_log_end(uint64_t sample, uint64_t duration, enum th_ledger_end how);

/* Whether the calling thread is in a critical section, in which it must not call JNI. */
bool th_takes_in_critical(const struct th_take *take);

/* Writes the counts that have changed, and adapts the rate; once a second. [agent-thread] */
void th_takes_log(void);

#endif
