/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the maximum cost of recording, as a share of the CPU time of the
 * process.  Once a second the cost of the last second is compared with it.  If the cost was
 * higher, the sampling interval is raised to the value at which the same load stays within the
 * budget; later it is lowered again.  The second after a raise is ignored, since the agent
 * thread still processes earlier samples.
 *
 * The cost that does not depend on the interval (rounds of the agent thread) is first
 * subtracted from the budget, up to half of it: no interval can reduce that cost.
 */
#ifndef TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H
#define TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct th_budget {
	uint64_t limit;      /* millionths; 0 = none */
	uint64_t configured; /* bytes: lower bound of the floor */
	uint64_t floor;      /* bytes: lower bound of the interval */
	uint64_t next;       /* ns: time of the next check */
	bool is_settling;    /* the floor was raised at the last check */
	/* Values at the last check, ns. */
	uint64_t captures;
	uint64_t agent;
	uint64_t process;
};

/* Total CPU time, ns. */
struct th_budget_times {
	uint64_t captures; /* of the library, in captures */
	uint64_t agent;    /* of the library, in the agent thread */
	uint64_t process;  /* of the whole process */
};

/* `limit` in millionths; 0 = no budget.  The floor starts at `interval` bytes. */
void th_budget_init(struct th_budget *budget, uint64_t limit, uint64_t interval);

/* Whether a second has passed since the last check. [in-malloc] */
bool th_budget_is_due(const struct th_budget *budget, uint64_t now);

/*
 * Compares the last second with the budget; returns the floor, bytes.  One writer. [in-malloc]
 */
uint64_t
th_budget_look(struct th_budget *budget, uint64_t now, const struct th_budget_times *times);

#endif
