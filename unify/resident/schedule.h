/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When an account of resident memory is due, and what it may cost: pure logic on times and bytes.
 *
 * Accounts take one part in 500 of the time of a processor and, once, half a second beyond, which
 * short recordings use up.  What one took is known only when it is over, so it is paid for
 * afterwards: by how long nothing more may be spent.
 */
#ifndef TH_UNIFY_RESIDENT_SCHEDULE_H
#define TH_UNIFY_RESIDENT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

/* Times are nanoseconds; one thread at a time. */
struct th_breakdown_plan {
	uint64_t start;        /* when the recording began */
	uint64_t next_look;    /* at the resident set */
	uint64_t next_regular; /* not before */
	uint64_t next_growth;
	int64_t credit;       /* processor time that accounts may take */
	uint64_t credit_time; /* when that was so */
	uint64_t highest;     /* resident bytes of all accounts so far */
};

void th_breakdown_plan_init(struct th_breakdown_plan *plan, uint64_t now);

/* Whether the resident set is to be looked at; it was, at `now`. [any] */
bool th_breakdown_plan_is_look_due(const struct th_breakdown_plan *plan, uint64_t now);
void th_breakdown_plan_looked(struct th_breakdown_plan *plan, uint64_t now);

/* Whether an account is due now that `resident` bytes are in memory, and why. [any] */
bool th_breakdown_plan_is_due(const struct th_breakdown_plan *plan, uint64_t now,
	uint64_t resident, enum th_breakdown_reason *reason_ret);

/* One was taken, took `cost` of a processor and found `resident` bytes. [any] */
void th_breakdown_plan_taken(
	struct th_breakdown_plan *plan, uint64_t now, uint64_t cost, uint64_t resident);

/* None can be taken: none is due ever again. [any] */
void th_breakdown_plan_give_up(struct th_breakdown_plan *plan);

#endif
