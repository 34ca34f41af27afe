/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/plan.h"

#include "unify/base/atomic.h"
#include "unify/shared/clock.h"
#include "unify/shared/settings_table.h"

/* The budget */

#define MILLION 1000000
/* CPU time beyond the share, once. */
#define BURST_NS 50e6
/*
 * The least that is left for samples, of a processor: a process is sampled even if the turns of the
 * agent thread alone exceed its budget, as they do in one that is nearly idle.
 */
#define LEAST_NS 2000000.0
/* Start-up, whose captures meet everything for the first time: neither saved nor owed afterwards. */
#define START_NS (5.0 * TH_NS_PER_S)
/* A debt leaves at least this part of what is for samples. */
#define DEBT_PART 2
/*
 * What is saved is used, and a debt is repaid, in this time (1/e of it is left): at first soon,
 * because many programs are short, later slowly, so that the allowance does not swing.
 */
#define HORIZON_FIRST_NS (0.7 * TH_NS_PER_S)
#define HORIZON_NS (10.0 * TH_NS_PER_S)
/* A debt is at most so many bursts, so that an error of measurement does not stop samples for long. */
#define DEBT_BURSTS 4
/* Forecasts are averages over about this time. */
#define FORECAST_NS (3.0 * TH_NS_PER_S)
/*
 * Getting the times takes at most 1/COST_SPACING of the elapsed time.  But an allowance is not valid
 * for longer than PERIOD_MOST_NS: on a busy machine, times that took long to get say little.
 */
#define COST_SPACING 2000
#define PERIOD_MOST_NS (5 * (uint64_t)TH_NS_PER_S)

static double
lower(double a, double b)
{
	return a < b ? a : b;
}

static double
larger(double a, double b)
{
	return a > b ? a : b;
}

static double
within(double value, double low, double high)
{
	return value < low ? low : lower(value, high);
}

void
th_budget_init(struct th_budget *budget, uint64_t limit)
{
	*budget = (struct th_budget){.limit = limit, .saved = BURST_NS};
}

bool
th_budget_is_due(const struct th_budget *budget, uint64_t now)
{
	return budget->limit && now >= budget->next;
}

static double
share(const struct th_budget *budget, double process)
{
	return process * (double)budget->limit / MILLION;
}

/* Moves a forecast towards what was used in `elapsed` ns; at first it is the mean. */
static void
forecast(const struct th_budget *budget, double *rate, double used, double elapsed)
{
	double memory = within(budget->measured, elapsed, FORECAST_NS);

	*rate += elapsed / memory * (used * TH_NS_PER_S / elapsed - *rate);
}

static void
settle(struct th_budget *budget, const struct th_budget_times *used)
{
	double spent = (double)used->samples + (double)used->others;
	double saved = budget->saved + share(budget, (double)used->process) - spent;

	budget->saved = within(saved, -DEBT_BURSTS * BURST_NS, BURST_NS);
}

static double
allowance(const struct th_budget *budget)
{
	double rest = share(budget, budget->process) - budget->others;
	double horizon = within(budget->measured, HORIZON_FIRST_NS, HORIZON_NS);
	double ns = rest + budget->saved * TH_NS_PER_S / horizon;

	return larger(larger(ns, rest / DEBT_PART), LEAST_NS);
}

/* The allowance before the first look. */
static double
first_allowance(const struct th_budget *budget)
{
	/* One processor is in use. */
	return BURST_NS * TH_NS_PER_S / HORIZON_FIRST_NS + share(budget, TH_NS_PER_S);
}

double
th_budget_look(struct th_budget *budget, uint64_t now, const struct th_budget_times *times,
	uint64_t cost)
{
	const struct th_budget_times used = {times->process - budget->last.process,
		times->samples - budget->last.samples, times->others - budget->last.others};
	bool is_first = !budget->time;
	double elapsed = (double)(now - budget->time);

	budget->last = *times;
	budget->time = now;
	/* The lower of two: a virtual machine may not have run meanwhile. */
	uint64_t usual = cost < budget->cost ? cost : budget->cost;
	budget->next = now + (uint64_t)within((double)usual * COST_SPACING, TH_BUDGET_PERIOD_NS,
				     PERIOD_MOST_NS);
	budget->cost = cost;
	if (is_first)
		return first_allowance(budget);
	bool was_starting = budget->measured < START_NS;
	if (elapsed > 0) {
		budget->measured += elapsed;
		forecast(budget, &budget->process, (double)used.process, elapsed);
		/* More at once is a debt: symbols of a module that are read do not recur. */
		forecast(budget, &budget->others,
			within((double)used.others, 0, share(budget, (double)used.process)),
			elapsed);
	}
	settle(budget, &used);
	if (was_starting && budget->measured >= START_NS)
		budget->saved = 0;
	return allowance(budget);
}

/* The interval */

/*
 * Loads between these do not change the interval: every change costs the VM a call and each of
 * its threads a sample of the old interval.
 */
#define LOW 0.8
#define HIGH 1.25
/*
 * All intervals are the least one times a power of STEP, the root of 2: few different ones occur
 * in a recording, and its reader calibrates each by itself.  A raise leads into the middle of
 * the band.
 */
#define STEP 1.4142
#define MIDDLE 1.19
/* Maximum steps of a raise: a seemingly lasting load may end.  A decrease is by half. */
#define UP_MAX 6
/* Time with a low load before the interval is lowered. */
#define CALM_NS (2 * (uint64_t)TH_NS_PER_S)
/* A heap with more samples than the other by this factor gets an interval that is higher by a step. */
#define UNEQUAL 2.0
/* The intervals differ at most by a factor of 64. */
#define AHEAD_MAX 12
/* A least interval of 0 is below this one by a step: smaller ones are no less expensive. */
#define FIRST 1024

/* The interval `step` steps above the least; 0: every allocation. */
static uint64_t
interval_at(const struct th_interval_control *control, uint32_t step)
{
	uint64_t base = control->least;

	if (!base && step) {
		base = FIRST;
		step--;
	}
	base <<= step / 2;
	return step % 2 ? base * 181 / 128 : base;
}

/* The interval `behind` steps below the higher one, as far as the step `least` permits. */
static uint64_t
interval_behind(const struct th_interval_control *control, int32_t behind, uint32_t least)
{
	uint32_t most = control->step > least ? control->step - least : 0;
	uint32_t below = behind > 0 ? (uint32_t)behind : 0;

	return interval_at(control, control->step - (below < most ? below : most));
}

static void
set_intervals(struct th_interval_control *control, uint32_t least)
{
	th_store_relaxed(&control->native, interval_behind(control, control->ahead, least));
	th_store_relaxed(&control->java, interval_behind(control, -control->ahead, least));
}

/* The step of the lowest interval that is not below `bytes`. */
static uint32_t
step_to(const struct th_interval_control *control, uint64_t bytes)
{
	uint32_t step = 0;

	while (interval_at(control, step) < bytes)
		step++;
	return step;
}

/* Starts at `value` or the next interval above it; 0 = every allocation. */
static void
init_interval(struct th_interval_control *control, uint64_t value, uint64_t least)
{
	control->least = least;
	control->calm_since = 0;
	control->ahead = 0;
	control->step = step_to(control, value);
	set_intervals(control, 0);
}

/* Whether the load was low for long enough. */
static bool
is_calm(struct th_interval_control *control, uint64_t now)
{
	if (!control->calm_since)
		control->calm_since = now;
	if (now - control->calm_since < CALM_NS)
		return false;
	control->calm_since = 0;
	return true;
}

static uint32_t
steps_up(double load)
{
	uint32_t steps = 0;

	for (; load > MIDDLE && steps < UP_MAX; steps++)
		load /= STEP;
	return steps;
}

/* Follows the numbers of samples; one or two of them say nothing. */
static void
balance(struct th_interval_control *control, double java, double native)
{
	if (java > UNEQUAL * (native + 1) && control->ahead < AHEAD_MAX)
		control->ahead++;
	else if (native > UNEQUAL * (java + 1) && control->ahead > -AHEAD_MAX)
		control->ahead--;
}

/*
 * Follows a load: samples due lately, divided by the number wanted in that time.  The interval
 * stays at or above `floor` bytes.
 */
static void
follow_load(struct th_interval_control *control, double load, uint64_t floor, uint64_t now)
{
	uint32_t least = step_to(control, floor < TH_INTERVAL_MAX ? floor : TH_INTERVAL_MAX);

	if (load >= LOW)
		control->calm_since = 0;
	if (load > HIGH && control->step >= least)
		control->step += steps_up(load);
	else if (load < LOW && control->step > least && is_calm(control, now))
		control->step -= load < LOW * LOW && control->step > 1 ? 2 : 1;
	if (control->step < least)
		control->step = least;
	while (interval_at(control, control->step) > TH_INTERVAL_MAX)
		control->step--;
	set_intervals(control, least);
}

/* The number of samples */

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
/* Of each heap's samples, those of about so many steps count. */
#define BALANCE_STEPS 3
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

bool
th_plan_is_adaptive(const struct th_plan *plan)
{
	return plan->limits.overhead || plan->limits.rate;
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

/* Steps of the interval */

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
	uint64_t passed = due - plan->step.due;

	if ((double)passed >= EARLY * plan->wanted && passed >= STEP_SAMPLES)
		return true;
	return elapsed >= STEP_NS &&
	       (elapsed >= STEP_NS_MAX || passed >= STEP_SAMPLES ||
		       plan->wanted * (double)elapsed >= STEP_SAMPLES * (double)TH_NS_PER_S);
}

static void
note_samples(double *samples, uint64_t number)
{
	*samples += (double)number - *samples / BALANCE_STEPS;
}

static void
step(struct th_plan *plan, uint64_t now, const struct th_plan_figures *figures)
{
	if (!is_step_due(plan, now, figures->due))
		return;
	uint64_t elapsed = now - plan->step_time > STEP_NS ? now - plan->step_time : STEP_NS;
	double rate = (double)(figures->due - plan->step.due) / (double)elapsed * TH_NS_PER_S;
	uint64_t floor = floor_of(plan, figures);

	if (rate < IDLE && floor < plan->limits.interval)
		floor = plan->limits.interval;
	note_samples(&plan->native, figures->native - plan->step.native);
	note_samples(&plan->java, figures->java - plan->step.java);
	balance(&plan->interval, plan->java, plan->native);
	follow_load(&plan->interval, rate / plan->wanted, floor, now);
	plan->step_time = now;
	plan->step = *figures;
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
	th_budget_init(&plan->budget, limits->overhead);
	plan->allowance = first_allowance(&plan->budget);
	plan->step_time = now;
	init_interval(&plan->interval, limits->interval, limits->least_interval);
}

void
th_plan_set_interval(struct th_plan *plan, uint64_t interval)
{
	plan->limits.least_interval = interval;
	init_interval(&plan->interval, interval, interval);
}

uint64_t
th_plan_interval(const struct th_plan *plan, enum th_heap heap)
{
	return th_load_relaxed(
		heap == TH_HEAP_JAVA ? &plan->interval.java : &plan->interval.native);
}
