/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers of JNI functions, by kind and return address: how many of their takes were recorded, and with
 * which probability the next one is, which is known before it is drawn.
 *
 * The table has a fixed size: callers that share an entry share its probability.  What the probability
 * depends on changes rarely, so it is computed then, for all entries that it concerns.
 */
#ifndef TH_JVMTI_LEDGER_CALLERS_H
#define TH_JVMTI_LEDGER_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"

/* Takes of one caller that are recorded at each level, before the next. */
#define TH_CALLERS_PER_LEVEL 512
/* Samples per second of frequent callers, all together: after as many the levels rise by one. */
#define TH_CALLERS_RATE 2000
#define TH_CALLERS_BITS 12
/* The level of a frequent caller, without the rate's share: one take in 512 is recorded. */
#define TH_CALLERS_FREQUENT 9

/* Written by samples of any thread; races cost little. */
struct th_caller {
	uint64_t skip;    /* atomic: a take whose draw is below is not recorded; 0 = all are */
	uint32_t samples; /* atomic: so far */
	uint32_t stack;   /* atomic: of the last one */
	uint32_t type;    /* atomic: of the last one */
};

extern struct th_caller th_callers[1u << TH_CALLERS_BITS] __attribute__((visibility("hidden")));

/* Forgets all callers. [agent-thread] */
void th_callers_clear(void);

/* Whether each take is recorded, at any rate. [agent-thread] */
void th_callers_set_exact(bool is_exact);

/* Whether so much is held that each caller counts as frequent. [any] */
void th_callers_set_full(bool is_full);

/* A caller's entry: Fibonacci hashing. [any] */
static inline struct th_caller *
th_callers_find(enum th_ledger_kind kind, uintptr_t caller)
{
	return &th_callers[(caller ^ (uintptr_t)kind << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
			   (64 - TH_CALLERS_BITS)];
}

/* A take with this `skip` is recorded with probability 2^-level. [any] */
static inline uint32_t
th_callers_level(uint64_t skip)
{
	return skip ? 64 - (uint32_t)__builtin_ctzll(skip) : 0;
}

/* One was drawn, at this level, and has this stack; 0 = none. [any] */
void th_callers_drawn(struct th_caller *caller, uint32_t level, uint32_t stack);

/* Lowers the levels after a second with few samples; once a second. [agent-thread] */
void th_callers_adapt(void);

#endif
