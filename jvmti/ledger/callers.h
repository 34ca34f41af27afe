/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers of JNI functions, by kind and return address: how many of their takes were recorded, and with
 * which probability the next one is, which is known before it is drawn.
 *
 * The table has a fixed size: callers that share an entry share its probability.
 */
#ifndef TH_JVMTI_LEDGER_CALLERS_H
#define TH_JVMTI_LEDGER_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/atomic.h"
#include "unify/shared/log_format.h"

/* Takes of one caller that are recorded at each level, before the next. */
#define TH_CALLERS_PER_LEVEL 512
/* Samples per second of frequent callers, all together. */
#define TH_CALLERS_RATE 2000
#define TH_CALLERS_BITS 12
/* The level of a frequent caller, without the rate's share: one take in 512 is recorded. */
#define TH_CALLERS_FREQUENT 9

/* Written by samples of any thread; races cost little. */
struct th_caller {
	uint32_t samples; /* atomic: so far */
	uint32_t stack;   /* atomic: of the last one */
	uint32_t type;    /* atomic: of the last one */
};

extern struct th_caller *th_callers; /* NULL before th_callers_clear() */
extern uint32_t th_callers_shift;    /* atomic: added to the level of frequent callers */

/* Forgets all callers; false: out of memory. [agent-thread] */
bool th_callers_clear(void);

/* The number of a caller's entry: Fibonacci hashing. [any] */
static inline uint32_t
th_callers_number(enum th_ledger_kind kind, uintptr_t caller)
{
	return (uint32_t)((caller ^ (uintptr_t)kind << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
			  (64 - TH_CALLERS_BITS));
}

/* The next take of this caller is to be recorded with probability 2^-level. [any] */
static inline uint32_t
th_callers_level(const struct th_caller *caller)
{
	const uint32_t step = 3;
	uint32_t level = th_load_relaxed(&caller->samples) / TH_CALLERS_PER_LEVEL * step;

	if (level > TH_CALLERS_FREQUENT)
		level = TH_CALLERS_FREQUENT;
	return level ? level + th_load_relaxed(&th_callers_shift) : 0;
}

/* One was drawn, at this level, and has this stack; 0 = none. [any] */
void th_callers_drawn(struct th_caller *caller, uint32_t level, uint32_t stack);

/* Adapts the levels to the rate; once a second. [agent-thread] */
void th_callers_adapt(void);

#endif
