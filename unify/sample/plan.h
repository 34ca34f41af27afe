/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much is sampled: the number of samples to keep in a second, and the sampling interval of
 * each heap.  The number is the lowest of
 *
 *   the rate            as configured
 *   the budget          half the CPU time that samples may take / what one has cost lately
 *   the log's growth    so that the log never becomes full
 *
 * Heaps share it fairly (water_level.h): neither takes samples from the other.  Each heap's
 * interval then follows its load, in both directions, so that as many samples are due as are
 * wanted.  With a budget more are wanted than can be kept, since a sample that is dropped costs
 * little: the other half is for them, and the frequent sites pay for it (site_rates.h).
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

#define TH_PLAN_HEAPS 3

/* CPU time of a due sample before it is known whether it is kept, ns; by enum th_heap - 1. */
extern const uint32_t th_plan_due_ns[TH_PLAN_HEAPS];

struct th_plan_limits {
	uint64_t interval;       /* bytes: the first */
	uint64_t least_interval; /* bytes */
	uint64_t most_interval;  /* bytes */
	uint64_t rate;           /* samples per second; 0 = no maximum */
	uint64_t overhead;       /* millionths of the process's CPU time; 0 = no budget */
	uint64_t burst;          /* ns: CPU time, see overhead_budget.h */
	bool saves_space;        /* log and tables limit the number of samples, too */
};

/* Totals since the start of the recording, unless stated otherwise. */
struct th_plan_figures {
	uint64_t due[TH_PLAN_HEAPS];
	uint64_t kept;
	struct th_budget_times times; /* zero without a budget */
	uint64_t times_cost;          /* ns: CPU time of getting them */
	uint64_t log_bytes;
	uint64_t log_room;    /* bytes left in the log */
	uint64_t ring_bytes;  /* size of the log if it is a ring, which has no end; else 0 */
	uint64_t live_blocks; /* sampled blocks of the C heap that are alive now */
};

struct th_plan_heap {
	struct th_interval_control interval;
	uint64_t due;  /* as of the last step */
	uint64_t time; /* ns: of the last step */
	double rate;   /* samples due per second, before that */
	double wanted; /* samples to be due per second */
};

struct th_plan {
	struct th_plan_limits limits;
	struct th_budget budget;
	struct th_plan_heap heaps[TH_PLAN_HEAPS];
	uint64_t begun;              /* ns */
	uint64_t next;               /* ns: time of the next review */
	double allowance;            /* ns of CPU time per second, for captures */
	double cost;                 /* ns: mean of a capture */
	double bytes;                /* mean of a kept sample in the log */
	struct th_plan_figures last; /* when cost and bytes were last updated */
};

/* The result of a review. */
struct th_plan_target {
	uint64_t rate;              /* samples per second; 0 = no maximum */
	double keep[TH_PLAN_HEAPS]; /* the part of each heap */
	/* By which the number of due samples is expected to change: intervals have changed. */
	double factor[TH_PLAN_HEAPS];
	double all_factor; /* of all heaps, <= 1: a decrease of an interval appears as a surge */
};

/* `now` in ns.  Returns the first target, in samples per second. */
uint64_t th_plan_init(struct th_plan *plan, const struct th_plan_limits *limits, uint64_t now);

/* Whether th_plan_review() has work to do at `now` (ns). [in-malloc] */
bool th_plan_is_due(const struct th_plan *plan, uint64_t now);

/* Adapts intervals and target to the figures.  One writer. [in-malloc] */
struct th_plan_target
th_plan_review(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures);

/* Changes limits while the process runs.  As th_plan_review(). [in-malloc] */
void th_plan_set_interval(struct th_plan *plan, uint64_t interval);
void th_plan_set_rate(struct th_plan *plan, uint64_t rate);

/* Mean bytes between the samples of a heap, for the next draw. [in-malloc] */
uint64_t th_plan_interval(const struct th_plan *plan, enum th_heap heap);

#endif
