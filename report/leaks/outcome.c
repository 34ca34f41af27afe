/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `leaks` as a whole. A heap is judged if deaths are known for long enough, or if
 * hardly anything was allocated. No leak in judged heaps means none above their detection limits, unless growth that may be larger
 * is unclear for another reason than too few samples.
 */
#include "report/leaks/outcome.h"

#include <math.h>
#include <stddef.h>

const char *const th_outcome_names[] = {
	[TH_OUTCOME_FOUND] = "found",
	[TH_OUTCOME_NONE] = "none",
	[TH_OUTCOME_INCONCLUSIVE] = "inconclusive",
};

/*
 * The heaps that the answer is about: those that were recorded and selected, and mapped memory
 * only if it is selected alone, since it is judged by few large chunks.
 */
static bool
is_asked_for(const struct th_leaks *leaks, enum th_heap heap)
{
	return th_profile_has_heap(leaks->profile, heap) &&
	       (heap != TH_HEAP_MAPPED || leaks->profile->options->heaps == 1u << heap);
}

/* Threads or class loaders that grow and were not judged; NULL: none. */
static const struct th_tallied *
find_unclear_tally(const struct th_leaks *leaks)
{
	for (size_t i = 0; i < leaks->tallies.items_count; i++)
		if (leaks->tallies.items[i].verdict == TH_VERDICT_UNCLEAR)
			return &leaks->tallies.items[i];
	return NULL;
}

struct th_outcome
th_outcome_find(const struct th_leaks *leaks)
{
	struct th_leaks_totals totals = th_leaks_totals(leaks);
	struct th_outcome outcome = {
		.verdict = TH_OUTCOME_NONE,
		.leaks = totals.leaks,
		.unclosed = totals.unclosed,
		.of_vm = th_leaks_of_vm(leaks),
		.growth = totals.growth,
		.asked = (double)leaks->profile->options->limit,
		.is_reached = true,
		.is_complete = true,
		.unclear = find_unclear_tally(leaks),
	};

	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		outcome.is_asked[heap] = is_asked_for(leaks, heap);
		outcome.is_judged[heap] = leaks->growth_limit[heap] < HUGE_VAL;
		outcome.limits[heap] = fmax(leaks->growth_limit[heap], leaks->row_limit[heap]);
		if (!outcome.is_asked[heap])
			continue;
		outcome.is_complete = outcome.is_complete && outcome.is_judged[heap];
		if (outcome.asked > 0 &&
			(!outcome.is_judged[heap] || outcome.limits[heap] > outcome.asked))
			outcome.is_reached = false;
	}
	if (totals.leaks || outcome.of_vm)
		outcome.verdict = TH_OUTCOME_FOUND;
	else if (!outcome.is_complete || leaks->unsettled || outcome.unclear)
		outcome.verdict = TH_OUTCOME_INCONCLUSIVE;
	return outcome;
}

int
th_outcome_status(const struct th_leaks *leaks, const struct th_outcome *outcome)
{
	const struct th_options *options = leaks->profile->options;

	if (options->fail_on == TH_FAIL_NEVER)
		return 0;
	if (outcome->verdict == TH_OUTCOME_FOUND &&
		(options->fail_on == TH_FAIL_LEAK ||
			th_leaks_bytes(leaks) >= (double)options->fail_bytes))
		return 1;
	if (outcome->verdict == TH_OUTCOME_INCONCLUSIVE)
		return TH_STATUS_INCONCLUSIVE;
	return outcome->is_reached ? 0 : TH_STATUS_LIMIT;
}
