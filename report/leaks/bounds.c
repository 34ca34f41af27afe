/* SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks/bounds.h"

#include <math.h>

#include "report/leaks/leaks_work.h"

/*
 * Rows with fewer samples that became old or died old grow by less than the detection limit: the
 * upper end of 7 samples is 14 sampling intervals over the whole time, a leak at the limit has
 * 11 in the later half alone.
 */
#define LEAST_SAMPLES 8

static uint64_t
old_samples(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	uint64_t count = 0;

	for (size_t i = 0; i < group->places_count; i++) {
		const struct th_outline *one = &work->outlines[group->places[i]];

		count += (uint64_t)one->gained_late + one->lost_late + one->kept_since +
			 one->dead_old;
	}
	return count;
}

/* Growth that has evidently ended limits nothing. */
static bool
has_ended(const struct th_evidence *evidence)
{
	return evidence->verdict == TH_VERDICT_PLATEAU &&
	       (evidence->reason == TH_REASON_STOPPED || evidence->reason == TH_REASON_STEP ||
		       evidence->reason == TH_REASON_SLOWED);
}

static void
find_row_limits(struct th_leaks *leaks)
{
	const struct th_leaks_work *work = leaks->work;

	for (size_t i = 0; i < work->groups_count; i++) {
		const struct th_leak_group *group = &work->groups[i];
		double *limit = &leaks->row_limit[group->heap];

		if (group->verdict == TH_VERDICT_LEAK || !group->places_count ||
			old_samples(work, group) < LEAST_SAMPLES)
			continue;
		struct th_finding finding = th_leaks_next(leaks, (uint32_t)i);
		double growth = finding.evidence.growth.high;
		if (!has_ended(&finding.evidence) && growth > *limit)
			*limit = growth;
	}
}

/* Whether an unclear finding grows by more than the limit, as far as is known. */
static bool
is_unsettled(const struct th_leaks *leaks, const struct th_listed *listed)
{
	const struct th_leak_site *place = &leaks->places.items[listed->place];

	if (listed->verdict != TH_VERDICT_UNCLEAR || place->internal)
		return false;
	switch (listed->reason) {
	case TH_REASON_LATE:
	case TH_REASON_DROPPED:
		return true;
	default:
		return listed->growth > leaks->growth_limit[place->heap];
	}
}

void
th_bounds_find(struct th_leaks *leaks)
{
	find_row_limits(leaks);
	for (size_t i = 0; i < leaks->findings_count && !leaks->unsettled; i++)
		if (is_unsettled(leaks, &leaks->findings[i]))
			leaks->unsettled = &leaks->findings[i];
}

bool
th_bounds_is_listed(const struct th_leaks *leaks, const struct th_listed *listed)
{
	double limit = leaks->growth_limit[leaks->places.items[listed->place].heap];

	if (listed->verdict != TH_VERDICT_UNCLEAR)
		return listed->verdict == TH_VERDICT_LEAK;
	return is_unsettled(leaks, listed) ||
	       (listed->growth > 0 && (isinf(limit) || listed->growth > limit));
}
