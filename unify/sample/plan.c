/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/plan.h"

#include <stddef.h>

#include "unify/shared/clock.h"

/* Time between two reviews. */
#define PERIOD_NS TH_BUDGET_PERIOD_NS
/*
 * The interval follows the load of a second, so that bursts once a second do not move it, or of
 * STEP_SAMPLES, so that random variation does not.
 */
#define STEP_NS TH_NS_PER_S
#define STEP_NS_MAX (10 * (uint64_t)TH_NS_PER_S)
#define STEP_SAMPLES 100
/*
 * Samples per second of a process that is idle or paused: it is not sampled more finely than at
 * first, since its load may return at once.
 */
#define IDLE 2
/* It is raised before the end of the second if these many times the wanted samples were due. */
#define EARLY 3
/* Before any was measured: a sample that meets cold tables. */
#define FIRST_COST_NS 20000
/* Where the clock of a thread does not advance, samples seem to cost nothing. */
#define COST_LEAST_NS 100
/*
 * While a program starts, captures pay for what is met for the first time: stacks, classes, method
 * IDs, pages.  Fewer samples would not save that.
 */
#define COST_MOST_NS 50000
/* Means are those of about the last MEAN_SAMPLES. */
#define MEAN_SAMPLES 300
/*
 * The log grows by at most 1/LOG_PART of what is left in the time recorded so far, but
 * LOG_LEAST_NS: what is left falls with the eighth root of the time.
 */
#define LOG_PART 8
#define LOG_LEAST_NS (600 * (uint64_t)TH_NS_PER_S)
/* Half a ring, which holds all samples of the last time, covers RING_S seconds. */
#define RING_PART 2
#define RING_S 600
/* A sample with its stack and its free is in this range; other events also make the log grow. */
#define SAMPLE_BYTES_MIN 96
#define SAMPLE_BYTES_MAX 512
#define FIRST_BYTES 256
/* However full the log is. */
#define LEAST_PER_S 2
/*
 * Each doubling of the interval adds this many live blocks, so their number grows with the
 * logarithm of the bytes alive: 28,000 for 4 GB.  At that number free() meets 2.7 % false
 * positives of the filter (live_blocks.h).
 */
#define BLOCKS_PER_DOUBLING 4096
#define DOUBLINGS_MAX 20

uint64_t
th_plan_interval(const struct th_plan *plan)
{
	return th_interval_control_value(&plan->interval);
}

/* The number of samples */

bool
th_plan_is_adaptive(const struct th_plan *plan)
{
	return plan->limits.overhead || plan->limits.rate;
}

static double
lower(double a, double b)
{
	return a < b ? a : b;
}

static double
within(double value, double low, double high)
{
	return value < low ? low : lower(value, high);
}

/* Samples per second. */
static double
target_of_log(const struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	uint64_t elapsed = now - plan->begun;
	double time = (double)(elapsed > LOG_LEAST_NS ? elapsed : LOG_LEAST_NS) / TH_NS_PER_S;
	double samples = (double)figures->log_room / (LOG_PART * time) / plan->bytes;

	if (figures->ring_bytes)
		samples = (double)figures->ring_bytes / RING_PART / RING_S / plan->bytes;

	return samples > LEAST_PER_S ? samples : LEAST_PER_S;
}

/* Samples per second of an adaptive plan. */
static double
target(const struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	double samples = 0x1p62;

	if (plan->limits.rate)
		samples = (double)plan->limits.rate;
	if (plan->limits.overhead)
		samples = lower(samples,
			plan->allowance / (lower(plan->cost, COST_MOST_NS) + COST_LEAST_NS));
	if (plan->limits.saves_space)
		samples = lower(samples, target_of_log(plan, now, figures));
	return samples > 1 ? samples : 1;
}

/* Moves a mean towards `sum` / `count`. */
static void
follow_mean(double *mean, double sum, double count)
{
	*mean += (sum - *mean * count) / (count + MEAN_SAMPLES);
}

static void
measure(struct th_plan *plan, const struct th_plan_figures *figures)
{
	double samples = (double)(figures->due - plan->last.due);

	if (samples > 0) {
		double bytes = (double)(figures->log_bytes - plan->last.log_bytes) / samples;

		follow_mean(&plan->cost,
			(double)(figures->times.samples - plan->last.times.samples), samples);
		follow_mean(&plan->bytes,
			samples * within(bytes, SAMPLE_BYTES_MIN, SAMPLE_BYTES_MAX), samples);
		plan->last = *figures;
	}
}

/* The interval */

/* Its lower bound. */
static uint64_t
floor_of(const struct th_plan *plan, const struct th_plan_figures *figures)
{
	uint64_t doublings = figures->live_blocks / BLOCKS_PER_DOUBLING;
	uint64_t least = plan->limits.least_interval;

	if (!plan->limits.saves_space)
		return least;
	return least << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

static bool
is_step_due(const struct th_plan *plan, uint64_t now, uint64_t due)
{
	uint64_t elapsed = now - plan->step_time;
	uint64_t passed = due - plan->step_due;

	if ((double)passed >= EARLY * plan->wanted && passed >= STEP_SAMPLES)
		return true;
	return elapsed >= STEP_NS &&
	       (elapsed >= STEP_NS_MAX || passed >= STEP_SAMPLES ||
		       plan->wanted * (double)elapsed >= STEP_SAMPLES * (double)TH_NS_PER_S);
}

static void
step(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	if (!is_step_due(plan, now, figures->due))
		return;
	uint64_t elapsed = now - plan->step_time > STEP_NS ? now - plan->step_time : STEP_NS;
	double rate = (double)(figures->due - plan->step_due) / (double)elapsed * TH_NS_PER_S;
	uint64_t floor = floor_of(plan, figures);

	if (rate < IDLE && floor < plan->limits.interval)
		floor = plan->limits.interval;
	th_interval_control_follow(&plan->interval, rate / plan->wanted, floor, now);
	plan->step_time = now;
	plan->step_due = figures->due;
}

/* Review */

void
th_plan_review(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	plan->next = now + PERIOD_NS;
	if (!th_plan_is_adaptive(plan))
		return;
	if (th_budget_is_due(&plan->budget, now))
		plan->allowance = th_budget_look(
			&plan->budget, now, &figures->times, figures->times_cost);
	measure(plan, figures);
	plan->wanted = target(plan, now, figures);
	step(plan, now, figures);
}

bool
th_plan_is_due(const struct th_plan *plan, uint64_t now)
{
	return now >= plan->next;
}

/* Limits */

void
th_plan_init(struct th_plan *plan, const struct th_plan_limits *limits, uint64_t now)
{
	*plan = (struct th_plan){
		.limits = *limits, .begun = now, .cost = FIRST_COST_NS, .bytes = FIRST_BYTES};
	th_budget_init(&plan->budget, limits->overhead, limits->burst);
	plan->allowance = th_budget_first(&plan->budget);
	plan->step_time = now;
	th_interval_control_init(&plan->interval, limits->interval, limits->least_interval);
}

void
th_plan_set_interval(struct th_plan *plan, uint64_t interval)
{
	plan->limits.least_interval = interval;
	th_interval_control_set(&plan->interval, interval);
}

void
th_plan_set_rate(struct th_plan *plan, uint64_t rate)
{
	plan->limits.rate = rate;
}
