/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/overhead_budget.h"

#include "unify/shared/clock.h"

#define MILLION 1000000
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

void
th_budget_init(struct th_budget *budget, uint64_t limit, uint64_t burst)
{
	*budget = (struct th_budget){.limit = limit, .burst = burst, .saved = (double)burst};
}

bool
th_budget_is_due(const struct th_budget *budget, uint64_t now)
{
	return budget->limit && now >= budget->next;
}

static double
within(double value, double low, double high)
{
	return value < low ? low : value < high ? value : high;
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
	double burst = (double)budget->burst;
	double spent = (double)used->samples + (double)used->others;
	double saved = budget->saved + share(budget, (double)used->process) - spent;

	budget->saved = within(saved, -DEBT_BURSTS * burst, burst);
}

static double
larger(double a, double b)
{
	return a > b ? a : b;
}

static double
allowance(const struct th_budget *budget)
{
	double rest = share(budget, budget->process) - budget->others;
	double horizon = within(budget->measured, HORIZON_FIRST_NS, HORIZON_NS);
	double ns = rest + budget->saved * TH_NS_PER_S / horizon;

	return larger(larger(ns, rest / DEBT_PART), LEAST_NS);
}

double
th_budget_first(const struct th_budget *budget)
{
	/* One processor is in use. */
	return (double)budget->burst * TH_NS_PER_S / HORIZON_FIRST_NS +
	       share(budget, TH_NS_PER_S);
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
		return th_budget_first(budget);
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
