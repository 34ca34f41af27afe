/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/overhead_budget.h"

#include "unify/shared/clock.h"

#define MILLION 1000000
/* CPU time in a second below which a process is idle: the budget is not enforced. */
#define IDLE_NS 20000000
/* The first floor if every allocation is recorded. */
#define FIRST_FLOOR 1024
/* The parameter of SetHeapSamplingInterval is a jint. */
#define FLOOR_MAX INT32_MAX
/* Maximum factors per second: captures of one second predict the next only roughly. */
#define UP_MAX 64
#define DOWN_MAX 4
/* Target, in hundredths of the budget, so that random variation does not exceed it. */
#define AIM 80
/* The floor is lowered when the cost is below this, in hundredths. */
#define LOW 50

void
th_budget_init(struct th_budget *budget, uint64_t limit, uint64_t interval)
{
	*budget = (struct th_budget){.limit = limit, .configured = interval, .floor = interval};
}

bool
th_budget_is_due(const struct th_budget *budget, uint64_t now)
{
	return budget->limit && now >= budget->next;
}

/* The share of captures in this much CPU time. */
static double
allowance(const struct th_budget *budget, double process, double agent)
{
	double whole = process * (double)budget->limit / MILLION;

	return whole - agent > whole / 2 ? whole - agent : whole / 2;
}

static uint64_t
scale(uint64_t floor, double factor)
{
	double scaled = (double)(floor ? floor : FIRST_FLOOR) * factor;

	return scaled < FLOOR_MAX ? (uint64_t)scaled : FLOOR_MAX;
}

static void
follow(struct th_budget *budget, double share)
{
	double factor = share * 100 / AIM;

	if (factor > UP_MAX)
		factor = UP_MAX;
	if (factor < 1.0 / DOWN_MAX)
		factor = 1.0 / DOWN_MAX;
	budget->is_settling = share > 1;
	if (share > 1 || share * 100 < LOW)
		budget->floor = scale(budget->floor, factor);
	/* If `configured` is 0, the lowest floor is equivalent to none. */
	if (budget->floor < budget->configured ||
		(!budget->configured && budget->floor < FIRST_FLOOR))
		budget->floor = budget->configured;
}

uint64_t
th_budget_look(struct th_budget *budget, uint64_t now, const struct th_budget_times *times)
{
	double captures = (double)(times->captures - budget->captures);
	double agent = (double)(times->agent - budget->agent);
	double process = (double)(times->process - budget->process);
	bool is_first = !budget->next;

	budget->captures = times->captures;
	budget->agent = times->agent;
	budget->process = times->process;
	budget->next = now + TH_NS_PER_S;
	if (is_first || budget->is_settling)
		budget->is_settling = false;
	else if (process >= IDLE_NS && (captures > 0 || budget->floor > budget->configured))
		follow(budget, captures / allowance(budget, process, agent));
	return budget->floor;
}
