/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/plan.h"

#include <stddef.h>

#include "unify/sample/water_level.h"
#include "unify/shared/clock.h"

/* Time between two reviews. */
#define PERIOD_NS TH_BUDGET_PERIOD_NS
/*
 * An interval follows the load of a second, so that bursts once a second do not move it, or of
 * STEP_SAMPLES, so that random variation does not.
 */
#define STEP_NS TH_NS_PER_S
#define STEP_NS_MAX (10 * (uint64_t)TH_NS_PER_S)
#define STEP_SAMPLES 100
/*
 * Samples per second of a heap that is idle or paused: it is not sampled more finely than at
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
/* Most samples kept in a second, as a multiple of the mean. */
#define SURGE 4
/* However full the log is. */
#define LEAST_PER_S 2
/*
 * Each doubling of the interval adds this many live blocks, so their number grows with the
 * logarithm of the bytes alive: 28,000 for 4 GB.  At that number free() meets 2.7 % false
 * positives of the filter (live_blocks.h).
 */
#define BLOCKS_PER_DOUBLING 4096
#define DOUBLINGS_MAX 20

/*
 * Measured in servers, with cold caches, for samples that are dropped: 1 us for the site; in the
 * Java heap the VM adds its slow path and the event.
 */
const uint32_t th_plan_due_ns[TH_PLAN_HEAPS] = {1500, 1000, 1000};

/*
 * With a budget (plan.h) a part of the allowance is for samples that are due and not kept.  Thinning by
 * site keeps the rare ones of them.
 */
#define DUE_PART 0.5
#define DUE_PER_KEPT_MIN 3
#define DUE_PER_KEPT_MAX 64

uint64_t
th_plan_interval(const struct th_plan *plan, enum th_heap heap)
{
	return th_interval_control_value(&plan->heaps[heap - 1].interval);
}

/* The number of samples */

static bool
has_target(const struct th_plan *plan)
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

/* Samples per second; a target exists. */
static double
target(const struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	double samples = 0x1p62;

	if (plan->limits.rate)
		samples = (double)plan->limits.rate;
	if (plan->limits.overhead)
		samples = lower(
			samples, (1 - DUE_PART) * plan->allowance /
					 (lower(plan->cost, COST_MOST_NS) + COST_LEAST_NS));
	if (plan->limits.saves_space)
		samples = lower(samples, target_of_log(plan, now, figures));
	return samples > 1 ? samples : 1;
}

/*
 * Of the samples that may be kept per second, as many as this in one second: only a configured
 * rate is valid for every second.  Rate control, which thins by the load of a moment, is then left
 * with surges, and the probability of a sample depends on its site alone.
 */
static double
most_in_second(const struct th_plan *plan, double samples)
{
	double most = SURGE * samples;

	return plan->limits.rate ? lower(most, (double)plan->limits.rate) : most;
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
	double kept = (double)(figures->kept - plan->last.kept);

	if (kept > 0) {
		double bytes = (double)(figures->log_bytes - plan->last.log_bytes) / kept;

		follow_mean(&plan->cost,
			(double)(figures->times.captures - plan->last.times.captures), kept);
		follow_mean(&plan->bytes,
			kept * within(bytes, SAMPLE_BYTES_MIN, SAMPLE_BYTES_MAX), kept);
		plan->last = *figures;
	}
}

/* The intervals */

static double
due_per_kept(const struct th_plan *plan, unsigned heap)
{
	double due = 1 + DUE_PART / (1 - DUE_PART) * plan->cost / th_plan_due_ns[heap];

	return plan->limits.overhead ? within(due, DUE_PER_KEPT_MIN, DUE_PER_KEPT_MAX) : 1;
}

/* The share of each heap, in samples due per second. */
static void
share_out(struct th_plan *plan, double samples)
{
	double demands[TH_PLAN_HEAPS];

	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++) {
		const struct th_plan_heap *heap = &plan->heaps[i];
		uint64_t least = heap->interval.least ? heap->interval.least : 1;

		/* If its interval were the smallest. */
		demands[i] = heap->rate * (double)heap->interval.value / (double)least;
	}
	double level = th_water_level(demands, TH_PLAN_HEAPS, samples);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		plan->heaps[i].wanted = level * due_per_kept(plan, i);
}

/* The lower bound of a heap's interval. */
static uint64_t
floor_of(const struct th_plan *plan, unsigned heap, const struct th_plan_figures *figures)
{
	uint64_t doublings = figures->live_blocks / BLOCKS_PER_DOUBLING;
	uint64_t least = plan->limits.least_interval;

	if (heap != TH_HEAP_NATIVE - 1 || !plan->limits.saves_space)
		return least;
	return least << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

static bool
is_step_due(const struct th_plan_heap *heap, uint64_t now, uint64_t due)
{
	uint64_t elapsed = now - heap->time;
	uint64_t passed = due - heap->due;

	if ((double)passed >= EARLY * heap->wanted && passed >= STEP_SAMPLES)
		return true;
	return elapsed >= STEP_NS &&
	       (elapsed >= STEP_NS_MAX || passed >= STEP_SAMPLES ||
		       heap->wanted * (double)elapsed >= STEP_SAMPLES * (double)TH_NS_PER_S);
}

/* Returns the samples that will be due per second. */
static double
step(struct th_plan *plan, unsigned i, uint64_t now, const struct th_plan_figures *figures,
	double *factor_ret)
{
	struct th_plan_heap *heap = &plan->heaps[i];

	if (!is_step_due(heap, now, figures->due[i]))
		return heap->rate;
	uint64_t elapsed = now - heap->time > STEP_NS ? now - heap->time : STEP_NS;
	double rate = (double)(figures->due[i] - heap->due) / elapsed * TH_NS_PER_S;
	uint64_t floor = floor_of(plan, i, figures);

	if (rate < IDLE && floor < plan->limits.interval)
		floor = plan->limits.interval;
	*factor_ret = th_interval_control_follow(
		&heap->interval, rate / heap->wanted, floor, now);
	heap->time = now;
	heap->due = figures->due[i];
	heap->rate = rate;
	return rate * *factor_ret;
}

/* Review */

static void
keep_budget(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	if (th_budget_is_due(&plan->budget, now))
		plan->allowance = th_budget_look(
			&plan->budget, now, &figures->times, figures->times_cost);
}

static void
set_factor(const struct th_plan *plan, const double *expected, struct th_plan_target *result)
{
	double before = 0;
	double after = 0;

	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++) {
		before += plan->heaps[i].rate;
		after += expected[i];
	}
	if (after < before)
		result->all_factor = after / before;
}

struct th_plan_target
th_plan_review(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	struct th_plan_target result = {.factor = {1, 1, 1}, .all_factor = 1};
	double expected[TH_PLAN_HEAPS];

	plan->next = now + PERIOD_NS;
	if (!has_target(plan))
		return result;
	keep_budget(plan, now, figures);
	measure(plan, figures);
	double samples = target(plan, now, figures);
	result.rate = (uint64_t)most_in_second(plan, samples);
	share_out(plan, samples);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		expected[i] = step(plan, i, now, figures, &result.factor[i]);
	set_factor(plan, expected, &result);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		/* In units of the new interval. */
		plan->heaps[i].rate = expected[i];
	double level = th_water_level(expected, TH_PLAN_HEAPS, samples);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		result.keep[i] = level;
	return result;
}

bool
th_plan_is_due(const struct th_plan *plan, uint64_t now)
{
	return now >= plan->next;
}

/* Limits */

uint64_t
th_plan_init(struct th_plan *plan, const struct th_plan_limits *limits, uint64_t now)
{
	static const struct th_plan_figures none;

	*plan = (struct th_plan){
		.limits = *limits, .begun = now, .cost = FIRST_COST_NS, .bytes = FIRST_BYTES};
	th_budget_init(&plan->budget, limits->overhead, limits->burst);
	plan->allowance = th_budget_first(&plan->budget);
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++) {
		plan->heaps[i].time = now;
		th_interval_control_init(&plan->heaps[i].interval, limits->interval,
			limits->least_interval, limits->most_interval, limits->overhead);
	}
	/* The log's room is not known yet. */
	struct th_plan_figures first = none;
	first.log_room = UINT64_MAX / 2;
	return has_target(plan) ? (uint64_t)most_in_second(plan, target(plan, now, &first)) : 0;
}

void
th_plan_set_interval(struct th_plan *plan, uint64_t interval)
{
	plan->limits.least_interval = interval;
	for (unsigned i = 0; i < TH_PLAN_HEAPS; i++)
		th_interval_control_set(&plan->heaps[i].interval, interval);
}

void
th_plan_set_rate(struct th_plan *plan, uint64_t rate)
{
	plan->limits.rate = rate;
}
