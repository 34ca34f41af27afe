/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a breakdown of resident memory is due, and its maximum cost: pure logic on times and
 * bytes.
 *
 * Breakdowns take 1/1000 of the CPU time of the process, at least 1/5000 and at most 1/1000 of the
 * time of one processor, plus, once, 25 ms and 1/100 of the first 5 s of CPU time.  What is not used is
 * saved, up to a quarter of a second.  The cost of a breakdown is known only afterwards, so
 * it is compensated by a pause before the next.  Regular ones are spaced so that what is left lasts
 * until the recording is twice as old: its later half always has some.
 */
#ifndef TH_UNIFY_RESIDENT_SCHEDULE_H
#define TH_UNIFY_RESIDENT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

/* Times are nanoseconds; one thread at a time. */
struct th_breakdown_plan {
	uint64_t start;        /* when the recording began */
	uint64_t next_look;    /* next read of the resident size */
	uint64_t spacing;      /* between the last read and that */
	uint64_t next_regular; /* earliest time */
	uint64_t next_growth;
	uint64_t spent;         /* CPU time of breakdowns, and what was not saved for them */
	uint64_t regular_spent; /* the same of regular ones */
	uint64_t start_used;    /* CPU time of the process at the start */
	uint64_t highest;       /* maximum resident bytes of all breakdowns so far */
	uint64_t resident;      /* bytes at the last read; 0: none */
};

/* `used` here and below: CPU time of the process so far. */
void th_breakdown_plan_init(struct th_breakdown_plan *plan, uint64_t now, uint64_t used);

/* The resident size, due at `next_look`, was read at `now`. [any] */
void th_breakdown_plan_looked(struct th_breakdown_plan *plan, uint64_t now, uint64_t resident);

/* Whether a breakdown is due at `resident` bytes, and why. [any] */
bool th_breakdown_plan_is_due(struct th_breakdown_plan *plan, uint64_t now, uint64_t used,
	uint64_t resident, enum th_breakdown_reason *reason_ret);

/* A breakdown was taken, cost `cost` of CPU time and found `resident` bytes. [any] */
void th_breakdown_plan_taken(struct th_breakdown_plan *plan, uint64_t now, uint64_t used,
	enum th_breakdown_reason reason, uint64_t cost, uint64_t resident);

/* Breakdowns cannot be taken: none is due from now on. [any] */
void th_breakdown_plan_give_up(struct th_breakdown_plan *plan);

#endif
