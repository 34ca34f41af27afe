/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular breakdowns are spaced in proportion to the age of the recording, growth brings them
 * forward, and a credit of CPU time delays both: it grows with the CPU time of the process, and
 * regular breakdowns leave a part of it to growth.  Growth needs no spacing of its own: its
 * breakdowns are at most those of a geometric series up to the peak.
 */
#include "unify/resident/schedule.h"

#include "unify/base/align.h"
#include "unify/shared/clock.h"

#define FIRST_NS (2 * (uint64_t)TH_NS_PER_S)
/*
 * Regular spacing as a share of the age: 50 breakdowns each time the recording grows 2.7-fold.
 */
#define SPACING_SHARE 50
/*
 * Breakdowns may take 1/COST_SPACING of the CPU time of the process, or of the time if that is
 * less; an idle process has 1/IDLE_SPACING of the time,
 */
#define COST_SPACING 1000
#define IDLE_SPACING 5000
/*
 * and all have more in the beginning: 25 ms, and 1/BEGINNING_SPACING of the CPU time until that is
 * another 50 ms; 15 to 20 breakdowns of half a gigabyte (Linux before 6.7: 5 to 8).  Without it,
 * recordings of some seconds could not distinguish lasting growth from growth that ended.
 */
#define CREDIT_FIRST_NS (TH_NS_PER_S / 40)
#define CREDIT_BEGINNING_NS (2 * CREDIT_FIRST_NS)
#define BEGINNING_SPACING 100
/* What is saved at most: 20 to 40 breakdowns of a gigabyte, for the way to a peak. */
#define CREDIT_MAX_NS (TH_NS_PER_S / 4)
/*
 * Regular breakdowns take at most CREDIT_FIRST_NS and 1/REGULAR_PART of what is earned, so that a peak
 * finds the rest.
 */
#define REGULAR_PART 2
/* Upper bound even then: 1/BURST_SPACING of the time, 1/GROWTH_SPACING on the way to a peak. */
#define BURST_SPACING 50
#define GROWTH_SPACING 25
/* The resident size is read 16 times each time the recording grows 2.7-fold, */
#define LOOK_SHARE 16
/*
 * but at most this often, also after growth since the last read that is half of what triggers a
 * breakdown, and at least about once a second (then at whole seconds, clock.h).
 */
#define LOOK_LEAST_NS (TH_NS_PER_S / 10)
/* Growth that triggers a breakdown: 5 % and 16 MiB above all breakdowns so far. */
#define GROWTH_SHARE 20
#define GROWTH_BYTES (16u << 20)

void
th_breakdown_plan_init(struct th_breakdown_plan *plan, uint64_t now, uint64_t used)
{
	*plan = (struct th_breakdown_plan){
		.start = now,
		.next_look = now,
		.next_regular = now + FIRST_NS,
		.start_used = used,
	};
}

/* Reads of the resident size */

/* Between LOOK_LEAST_NS and a second. */
static uint64_t
look_spacing(uint64_t wanted)
{
	if (wanted < LOOK_LEAST_NS)
		return LOOK_LEAST_NS;
	return wanted < TH_NS_PER_S ? wanted : TH_NS_PER_S;
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
	uint64_t spacing = look_spacing((now - plan->start) / LOOK_SHARE);

	if (plan->resident && is_rising(plan, resident))
		spacing = LOOK_LEAST_NS;
	/* Of a process that stands still: twice the last one. */
	if (resident == plan->resident)
		spacing = th_max(spacing, look_spacing(2 * plan->spacing));
	plan->spacing = spacing;
	plan->next_look = now + spacing;
	if (plan->next_look - now >= TH_NS_PER_S)
		plan->next_look = th_clock_next_second(now + TH_NS_PER_S / 2);
	plan->resident = resident;
}

/* Breakdowns */

static bool
has_grown(const struct th_breakdown_plan *plan, uint64_t resident)
{
	return resident > plan->highest + GROWTH_BYTES &&
	       resident > plan->highest + plan->highest / GROWTH_SHARE;
}

/*
 * CPU time that breakdowns may take until `now`, when the process has used `used`, besides that of the
 * beginning.
 */
static uint64_t
share_of(const struct th_breakdown_plan *plan, uint64_t now, uint64_t used)
{
	uint64_t elapsed = now - plan->start;

	used -= plan->start_used;
	return th_max((used < elapsed ? used : elapsed) / COST_SPACING, elapsed / IDLE_SPACING);
}

/* What is left of `earned`; what exceeds `most` is not saved. */
static int64_t
left_of(uint64_t earned, uint64_t *spent, uint64_t most)
{
	if (earned > *spent + most)
		*spent = earned - most;
	return (int64_t)(earned - *spent);
}

static int64_t
credit_of(struct th_breakdown_plan *plan, uint64_t now, uint64_t used)
{
	uint64_t beginning = (used - plan->start_used) / BEGINNING_SPACING;

	return left_of(
		CREDIT_FIRST_NS + share_of(plan, now, used) +
			(beginning < CREDIT_BEGINNING_NS ? beginning : CREDIT_BEGINNING_NS),
		&plan->spent, CREDIT_MAX_NS);
}

/* The part of it that regular breakdowns may take. */
static int64_t
regular_credit_of(struct th_breakdown_plan *plan, uint64_t now, uint64_t used)
{
	return left_of(CREDIT_FIRST_NS + share_of(plan, now, used) / REGULAR_PART,
		&plan->regular_spent, CREDIT_MAX_NS / REGULAR_PART);
}

bool
th_breakdown_plan_is_due(struct th_breakdown_plan *plan, uint64_t now, uint64_t used,
	uint64_t resident, enum th_breakdown_reason *reason_ret)
{
	if (credit_of(plan, now, used) < 0)
		return false;
	*reason_ret = TH_BREAKDOWN_GROWTH;
	if (now >= plan->next_growth && has_grown(plan, resident))
		return true;
	*reason_ret = TH_BREAKDOWN_REGULAR;
	return now >= plan->next_regular && regular_credit_of(plan, now, used) >= 0;
}

/*
 * The spacing with which regular breakdowns of `cost` use up, until the recording is twice as old, what
 * is left of the credit and what is earned until then at the rate so far.
 */
static uint64_t
lasting_spacing(struct th_breakdown_plan *plan, uint64_t now, uint64_t used, uint64_t cost)
{
	int64_t credit = credit_of(plan, now, used),
		regular = regular_credit_of(plan, now, used);
	int64_t left = (credit < regular ? credit : regular) +
		       (int64_t)(share_of(plan, now, used) / REGULAR_PART);
	uint64_t count = left > 0 && cost ? (uint64_t)left / cost : 0;

	return (now - plan->start) / (count ? count : 1);
}

void
th_breakdown_plan_taken(struct th_breakdown_plan *plan, uint64_t now, uint64_t used,
	enum th_breakdown_reason reason, uint64_t cost, uint64_t resident)
{
	uint64_t spacing = th_max((now - plan->start) / SPACING_SHARE, FIRST_NS);

	plan->spent += cost;
	if (reason == TH_BREAKDOWN_REGULAR)
		plan->regular_spent += cost;
	plan->next_growth = now + cost * GROWTH_SPACING;
	spacing = th_max(spacing, lasting_spacing(plan, now, used, cost));
	plan->next_regular = now + th_max(cost * BURST_SPACING, spacing);
	if (resident > plan->highest)
		plan->highest = resident;
}

void
th_breakdown_plan_give_up(struct th_breakdown_plan *plan)
{
	plan->next_regular = UINT64_MAX;
	plan->next_growth = UINT64_MAX;
}
