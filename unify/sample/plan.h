/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling interval: each due sample is recorded, so the interval alone determines how many there
 * are.  As many are wanted per second as the lowest of
 *
 *   the rate            as configured
 *   the budget          CPU time that samples may take / what one has cost lately
 *   the log's growth    so that the log never becomes full
 *
 * All heaps have the same interval: a byte that leaks is equally likely to be sampled in each.
 *
 * Nothing here reads a clock or the log: the caller brings all figures.
 */
#ifndef TH_UNIFY_SAMPLE_PLAN_H
#define TH_UNIFY_SAMPLE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/interval_control.h"
#include "unify/sample/overhead_budget.h"
#include "unify/shared/log_format.h"

struct th_plan_limits {
	uint64_t interval;       /* bytes: the first */
	uint64_t least_interval; /* bytes */
	uint64_t rate;           /* samples per second; 0 = no maximum */
	uint64_t overhead;       /* millionths of the process's CPU time; 0 = no budget */
	uint64_t burst;          /* ns: CPU time, see overhead_budget.h */
	bool saves_space;        /* log and tables limit the number of samples, too */
};

/* Totals since the start of the recording, unless stated otherwise. */
struct th_plan_figures {
	uint64_t due;                 /* samples */
	struct th_budget_times times; /* zero without a budget */
	uint64_t times_cost;          /* ns: CPU time of getting them */
	uint64_t log_bytes;
	uint64_t log_room;    /* bytes left in the log */
	uint64_t ring_bytes;  /* size of the log if it is a ring, which has no end; else 0 */
	uint64_t live_blocks; /* sampled blocks of the C heap that are alive now */
};

struct th_plan {
	struct th_plan_limits limits;
	struct th_budget budget;
	struct th_interval_control interval;
	uint64_t step_time;          /* ns: the last time that the interval could change */
	uint64_t step_due;           /* samples due by then */
	uint64_t begun;              /* ns */
	uint64_t next;               /* ns: time of the next review */
	double allowance;            /* ns of CPU time per second, for samples */
	double cost;                 /* ns: mean of a sample */
	double bytes;                /* mean of a sample in the log */
	double wanted;               /* samples per second */
	struct th_plan_figures last; /* when cost and bytes were last updated */
};

/* `now` in ns. */
void th_plan_init(struct th_plan *plan, const struct th_plan_limits *limits, uint64_t now);

/* Whether the interval follows anything: a rate, or a budget. [in-malloc] */
bool th_plan_is_adaptive(const struct th_plan *plan);

/* Whether th_plan_review() has work to do at `now` (ns). [in-malloc] */
bool th_plan_is_due(const struct th_plan *plan, uint64_t now);

/* Adapts the interval to the figures.  One writer. [in-malloc] */
void th_plan_review(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures);

/* Changes limits while the process runs.  As th_plan_review(). [in-malloc] */
void th_plan_set_interval(struct th_plan *plan, uint64_t interval);
void th_plan_set_rate(struct th_plan *plan, uint64_t rate);

/* Mean bytes between two samples in each heap, for the next draw. [in-malloc] */
uint64_t th_plan_interval(const struct th_plan *plan);

#endif
