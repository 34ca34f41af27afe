/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The overhead budget: the maximum CPU time of recording, as a share of the CPU time of the
 * process, plus a burst once, which short programs need.
 *
 *   saved = burst + share * CPU time of the process - CPU time of recording     (<= burst)
 *
 * The allowance, CPU time that samples may take in the next second, is the share of the CPU
 * time that the process uses in a second, less the other cost of recording, plus what is saved:
 * half of it is used, and half of a debt is repaid, within 0.5 s at first, and 7 s once the
 * recording has lasted 10 s.  From then on the allowance changes slowly on purpose: samples whose
 * weight fluctuates tell no more than far fewer samples of equal weight (statistics.md).
 *
 * What is saved or owed after the first 5 s is forgotten: start-up meets everything for the first
 * time.  From then on all cost of recording counts, but samples may always take 0.2 % of a processor.
 */
#ifndef TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H
#define TH_UNIFY_SAMPLE_OVERHEAD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Time between two looks; more if reading the CPU time of the process always takes long. */
#define TH_BUDGET_PERIOD_NS 100000000

/* Total CPU time, ns. */
struct th_budget_times {
	uint64_t process; /* of the whole process */
	uint64_t samples; /* of recording, for samples */
	uint64_t others;  /* of recording: the agent thread, captures that are not of samples */
};

struct th_budget {
	uint64_t limit;  /* millionths; 0 = none */
	uint64_t burst;  /* ns */
	uint64_t time;   /* ns: of the last look; 0 = there was none */
	uint64_t next;   /* ns: not before */
	uint64_t cost;   /* ns: CPU time of getting the times for the last look */
	double saved;    /* ns; negative: a debt */
	double measured; /* ns: time for which times are known */
	/* Forecasts, ns per second. */
	double process;
	double others;
	struct th_budget_times last;
};

/* `limit` in millionths; 0 = no budget.  `burst` in ns of CPU time. */
void th_budget_init(struct th_budget *budget, uint64_t limit, uint64_t burst);

/* Whether th_budget_look() has work to do at `now` (ns). [in-malloc] */
bool th_budget_is_due(const struct th_budget *budget, uint64_t now);

/*
 * Updates the budget; returns the allowance, ns of CPU time per second.  `cost` ns: CPU time of
 * getting the times, which limits how often this is due.  One writer. [in-malloc]
 */
double th_budget_look(struct th_budget *budget, uint64_t now,
	const struct th_budget_times *times, uint64_t cost);

/* The allowance before the first look. */
double th_budget_first(const struct th_budget *budget);

#endif
