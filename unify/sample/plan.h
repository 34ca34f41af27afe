/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling interval: each due sample is recorded, so the interval alone determines how many there
 * are.  As many are wanted per second as the lowest of
 *
 *   the rate            as configured
 *   the budget          CPU time that samples may take / what one has cost lately
 *   the log's growth    so that the log never becomes full
 *
 * The C heap and the Java heap have about equally many samples, as far as both have an interval within
 * the limits: most programs allocate far more Java objects, nearly all of which die young, and these
 * would take the samples from the leaks of native code.
 *
 * Nothing here reads a clock or the log: the caller brings all figures.
 */
#ifndef TH_UNIFY_SAMPLE_PLAN_H
#define TH_UNIFY_SAMPLE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

/* The budget */

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

/* `limit` in millionths; 0 = no budget. */
void th_budget_init(struct th_budget *budget, uint64_t limit);

/* Whether th_budget_look() has work to do at `now` (ns). [in-malloc] */
bool th_budget_is_due(const struct th_budget *budget, uint64_t now);

/*
 * Updates the budget; returns the allowance, ns of CPU time per second.  `cost` ns: CPU time of
 * getting the times, which limits how often this is due.  One writer. [in-malloc]
 */
double th_budget_look(struct th_budget *budget, uint64_t now,
	const struct th_budget_times *times, uint64_t cost);

/* The interval */

/*
 * The sampling interval, which follows the load: the number of samples due is
 * inversely proportional to the interval.
 *
 * A higher load raises the interval at once; a lower one halves it after two seconds: a program that
 * paused, for a collection or on a busy machine, resumes with its full load, which at a small interval
 * would be a surge of samples.
 */

struct th_interval_control {
	uint64_t native;     /* bytes; atomic: one writer, any reader */
	uint64_t java;       /* likewise */
	uint64_t least;      /* bytes: both are this, or above it */
	uint32_t step;       /* of the higher one: by so many factors of the root of 2 */
	int32_t ahead;       /* factors of the root of 2 from the native to the Java one */
	uint64_t calm_since; /* ns: the load has been low since; 0 = it is not */
};

/* The plan */

struct th_plan_limits {
	uint64_t interval;       /* bytes: the first; 0 = every allocation */
	uint64_t least_interval; /* bytes */
	uint64_t rate;           /* samples per second; 0 = no maximum */
	uint64_t overhead;       /* millionths of the process's CPU time; 0 = no budget */
	bool saves_space;        /* log and tables limit the number of samples, too */
};

/* Totals since the start of the recording, unless stated otherwise. */
struct th_plan_figures {
	uint64_t due;                 /* samples */
	uint64_t native;              /* samples recorded of the C heap */
	uint64_t java;                /* of the Java heap */
	struct th_budget_times times; /* zero without a budget; `process`: if that is due */
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
	struct th_plan_figures step; /* by then */
	double native;               /* samples in the last steps, fading */
	double java;
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

/* Changes limits.interval while the process runs, as others may be.  As th_plan_review(). [in-malloc] */
void th_plan_set_interval(struct th_plan *plan, uint64_t interval);

/* Mean bytes between two samples of a heap, for the next draw. [in-malloc] */
uint64_t th_plan_interval(const struct th_plan *plan, enum th_heap heap);

#endif
