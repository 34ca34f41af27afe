/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/overhead_budget.h"

#include "unify/shared/clock.h"

#define MILLION 1000000
/*
 * The least that is left for captures: a part of the budget, and of a processor.  A process is
 * sampled even if the turns of the agent thread alone exceed its budget, as they do in one that
 * is nearly idle.
 */
#define LEAST_PART 2
#define LEAST_NS 2000000.0
/*
 * What is saved is used, and a debt is repaid, in this time (1/e of it is left): at first soon,
 * because many programs are short, later slowly, so that the allowance does not swing.
 */
#define HORIZON_FIRST_NS (0.7 * TH_NS_PER_S)
#define HORIZON_NS (5.0 * TH_NS_PER_S)
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
max(double a, double b)
{
	return a > b ? a : b;
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

/* What captures may take of so much CPU time, of which the others took a part; in `elapsed` ns. */
static double
for_captures(const struct th_budget *budget, double process, double others, double elapsed)
{
	double whole = share(budget, process);
	double least = elapsed * LEAST_NS / TH_NS_PER_S;
	double rest = whole - others;

	if (rest < whole / LEAST_PART)
		rest = whole / LEAST_PART;
	return rest > least ? rest : least;
}

/*
 * The cost of others beyond half of the budget is no debt, which would only stop captures; that of due
 * samples is taken out of what is saved.  A debt is bounded, so that an error of measurement does not stop
 * captures for long.
 */
static void
settle(struct th_budget *budget, const struct th_budget_times *used, double elapsed)
{
	double burst = (double)budget->burst;
	double process = (double)used->process;
	double due = (double)used->due - share(budget, process) / LEAST_PART;
	double saved = budget->saved - within(due, 0, max(budget->saved, 0));

	saved += for_captures(budget, process, (double)(used->others + used->due), elapsed);
	budget->saved = within(saved - (double)used->captures, -burst, burst);
}

static double
allowance(const struct th_budget *budget)
{
	double rest = for_captures(budget, budget->process, budget->others, TH_NS_PER_S);
	double horizon = within(budget->measured, HORIZON_FIRST_NS, HORIZON_NS);
	double ns = rest + budget->saved * TH_NS_PER_S / horizon;

	return ns > rest / LEAST_PART ? ns : rest / LEAST_PART;
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
		times->captures - budget->last.captures, times->due - budget->last.due,
		times->others - budget->last.others};
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
	if (elapsed > 0) {
		budget->measured += elapsed;
		forecast(budget, &budget->process, (double)used.process, elapsed);
		forecast(budget, &budget->others, (double)(used.others + used.due), elapsed);
	}
	settle(budget, &used, elapsed);
	return allowance(budget);
}
