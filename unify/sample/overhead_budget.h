/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: what recording may cost, as a part of the processor time of the process.
 * Once a second the cost of the last second is held against it; where it was more, the sampling
 * interval goes up so far that the same load keeps to it, and later comes back.  The second after
 * that is let pass, since the agent thread still works off what was sampled before.
 *
 * What does not depend on the interval (the agent thread's rounds) is taken off the budget first,
 * down to half of it: no interval could win it back.
 */
#ifndef TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H
#define TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct th_budget {
	uint64_t limit;      /* millionths; 0 = none */
	uint64_t configured; /* bytes: the floor is not below */
	uint64_t floor;      /* bytes: the interval is not to go below */
	uint64_t next;       /* ns: not to be looked at before */
	bool is_settling;    /* the floor went up at the last look */
	/* As of the last look, ns. */
	uint64_t captures;
	uint64_t agent;
	uint64_t process;
};

/* Processor time so far, ns. */
struct th_budget_times {
	uint64_t captures; /* of ours, in captures */
	uint64_t agent;    /* of ours, in the agent thread */
	uint64_t process;  /* of the whole process */
};

/* No part of `limit` = 0; else millionths.  The floor begins at `interval` bytes. */
void th_budget_init(struct th_budget *budget, uint64_t limit, uint64_t interval);

/* Whether a second has passed since the last look. [in-malloc] */
bool th_budget_is_due(const struct th_budget *budget, uint64_t now);

/* Holds the last second against the budget; returns the floor, bytes.  One writer. [in-malloc] */
uint64_t
th_budget_look(struct th_budget *budget, uint64_t now, const struct th_budget_times *times);

#endif
