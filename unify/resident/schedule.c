/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular breakdowns are spaced in proportion to the age of the recording, growth brings them
 * forward, and a budget of CPU time delays both.  Growth needs no spacing of its own: its
 * breakdowns are at most those of a geometric series up to the peak.
 */
#include "unify/resident/schedule.h"

#include "unify/shared/clock.h"

#define FIRST_NS (2 * (uint64_t)TH_NS_PER_S)
/*
 * Regular spacing as a share of the age: 50 breakdowns each time the recording grows 2.7-fold.
 */
#define SPACING_SHARE 50
/* Breakdowns may take 1/COST_SPACING of the time, */
#define COST_SPACING 500
/*
 * and once this much more: CPU time of 12 breakdowns of a gigabyte.  Without it, recordings of
 * some seconds could not distinguish lasting growth from growth that ended.
 */
#define CREDIT_NS ((int64_t)TH_NS_PER_S / 4)
/* Upper bound even then: 1/BURST_SPACING of the time, 1/GROWTH_SPACING on the way to a peak. */
#define BURST_SPACING 50
#define GROWTH_SPACING 25
/* The resident size is read 16 times each time the recording grows 2.7-fold, */
#define LOOK_SHARE 16
/* but at most this often, at least once a second, */
#define LOOK_LEAST_NS (TH_NS_PER_S / 10)
/* and this soon after growth since the last read that is half of what triggers a breakdown. */
#define LOOK_GROWING_NS LOOK_LEAST_NS
/* Growth that triggers a breakdown: 5 % and 16 MiB above all breakdowns so far. */
#define GROWTH_SHARE 20
#define GROWTH_BYTES (16u << 20)

void
th_breakdown_plan_init(struct th_breakdown_plan *plan, uint64_t now)
{
	*plan = (struct th_breakdown_plan){
		.start = now,
		.next_look = now,
		.next_regular = now + FIRST_NS,
		.credit = CREDIT_NS,
		.credit_time = now,
	};
}

/* Reads of the resident size */

bool
th_breakdown_plan_is_look_due(const struct th_breakdown_plan *plan, uint64_t now)
{
	return now >= plan->next_look;
}

static uint64_t
look_spacing(const struct th_breakdown_plan *plan, uint64_t now)
{
	uint64_t spacing = (now - plan->start) / LOOK_SHARE;

	if (spacing < LOOK_LEAST_NS)
		return LOOK_LEAST_NS;
	return spacing < TH_NS_PER_S ? spacing : TH_NS_PER_S;
}

/* Whether the process is on its way to a new peak, which may be over in a second. */
static bool
is_rising(const struct th_breakdown_plan *plan, uint64_t resident)
{
	return resident > plan->highest && resident > plan->resident + GROWTH_BYTES / 2 &&
	       resident > plan->resident + plan->resident / GROWTH_SHARE / 2;
}

void
th_breakdown_plan_looked(struct th_breakdown_plan *plan, uint64_t now, uint64_t resident)
{
	bool is_fast = plan->resident && is_rising(plan, resident);

	plan->next_look = now + (is_fast ? LOOK_GROWING_NS : look_spacing(plan, now));
	plan->resident = resident;
}

/* Breakdowns */

static bool
has_grown(const struct th_breakdown_plan *plan, uint64_t resident)
{
	return resident > plan->highest + GROWTH_BYTES &&
	       resident > plan->highest + plan->highest / GROWTH_SHARE;
}

bool
th_breakdown_plan_is_due(const struct th_breakdown_plan *plan, uint64_t now, uint64_t resident,
	enum th_breakdown_reason *reason_ret)
{
	if (now >= plan->next_growth && has_grown(plan, resident)) {
		*reason_ret = TH_BREAKDOWN_GROWTH;
		return true;
	}
	*reason_ret = TH_BREAKDOWN_REGULAR;
	return now >= plan->next_regular;
}

static uint64_t
max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Charges a breakdown to the credit; returns the time in which the process pays off its debt. */
static uint64_t
charge(struct th_breakdown_plan *plan, uint64_t now, uint64_t cost)
{
	plan->credit += (int64_t)((now - plan->credit_time) / COST_SPACING);
	plan->credit_time = now;
	if (plan->credit > CREDIT_NS)
		plan->credit = CREDIT_NS;
	plan->credit -= (int64_t)cost;
	return plan->credit < 0 ? (uint64_t)-plan->credit * COST_SPACING : 0;
}

void
th_breakdown_plan_taken(
	struct th_breakdown_plan *plan, uint64_t now, uint64_t cost, uint64_t resident)
{
	uint64_t debt = charge(plan, now, cost);
	uint64_t spacing = max((now - plan->start) / SPACING_SHARE, FIRST_NS);

	plan->next_growth = now + max(debt, cost * GROWTH_SPACING);
	plan->next_regular = now + max(max(debt, cost * BURST_SPACING), spacing);
	if (resident > plan->highest)
		plan->highest = resident;
}

void
th_breakdown_plan_give_up(struct th_breakdown_plan *plan)
{
	plan->next_regular = UINT64_MAX;
	plan->next_growth = UINT64_MAX;
}
