/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the groups of a finding and over the sites of lines; bounds of what was not found, and the
 * answer of `leaks` as a whole. A heap is judged if deaths are known for long enough, or if hardly anything
 * was allocated. No leak in judged heaps means none above their detection limits, unless growth that may be
 * larger is unclear for another reason than too few samples.
 */
#include "report/leaks/leaks_work.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

/*
 * Rows with fewer samples that became old or died old grow by less than the detection limit: the
 * upper end of 7 samples is 14 sampling intervals over the whole time, a leak at the limit has
 * 11 in the later half alone.
 */
#define LEAST_SAMPLES 8

TH_COMPARE(compare_parts, struct th_leak_part,
	th_order(right->live, left->live) ?: th_order(left->place, right->place))

struct part_list {
	TH_ARRAY(struct th_leak_part, items);
};

size_t
th_leaks_parts(const struct th_leaks *leaks, const struct th_listed *listed,
	struct th_leak_part *parts, size_t capacity, double *live_ret)
{
	const struct th_leaks_work *work = leaks->work;
	struct part_list list = {0};
	size_t count;

	*live_ret = 0;
	for (uint32_t i = listed->group; i != TH_NO_GROUP; i = work->groups[i].next) {
		const struct th_leak_group *group = &work->groups[i];

		for (size_t k = 0; k < group->places_count; k++) {
			const struct th_outline *one = &work->outlines[group->places[k]];
			struct th_leak_part part = {
				group->places[k], one->live_bytes, one->live_samples};

			*live_ret += part.live;
			th_array_append(&list, items, part);
		}
	}
	count = list.items_count;
	th_sort(list.items, count, compare_parts);
	for (size_t i = 0; i < count && i < capacity; i++)
		parts[i] = list.items[i];
	free(list.items);
	return count;
}

/* Lines */

static struct th_leak_line *
find_line(struct th_leak_lines *lines, const struct th_leaks *leaks, uint32_t place)
{
	const struct th_leak_site *site = &leaks->places.items[place];
	uint32_t prefix = leaks->work->makers[place];
	struct th_leak_line line = {.heap = site->heap,
		.verdict = TH_VERDICT_CHURN,
		.prefix = prefix,
		.place = place};

	if (leaks->profile->options->group_by)
		line.group = prefix;
	uint32_t index = th_id_map_enter(
		&lines->ids, th_leaks_relation(leaks->work, place), lines, items, line);
	return &lines->items[index];
}

static void
add_site(struct th_leak_lines *lines, const struct th_leaks *leaks, uint32_t place,
	enum th_verdict verdict)
{
	const struct th_outline *outline = &leaks->work->outlines[place];
	struct th_leak_line *line = find_line(lines, leaks, place);

	if (outline->live_bytes > leaks->work->outlines[line->place].live_bytes)
		line->place = place;
	if (verdict < line->verdict)
		line->verdict = verdict;
	line->live += outline->live_bytes;
	line->growth += outline->growth;
}

/* The limits of a leak belong to the line of its largest site. */
static void
add_limits(struct th_leak_lines *lines, const struct th_leaks *leaks, uint32_t number)
{
	struct th_finding finding = th_leaks_next(leaks, number);
	struct th_leak_line *line = find_line(lines, leaks, finding.place);

	line->low += finding.evidence.growth.low;
	line->high += finding.evidence.growth.high;
}

void
th_leak_lines_init(struct th_leak_lines *lines, const struct th_leaks *leaks)
{
	const struct th_leaks_work *work = leaks->work;

	*lines = (struct th_leak_lines){0};
	for (uint32_t i = 0; i < work->groups_count; i++) {
		const struct th_leak_group *group = &work->groups[i];

		for (size_t k = 0; k < group->places_count; k++)
			add_site(lines, leaks, group->places[k], group->listed);
		if (group->places_count && group->listed == TH_VERDICT_LEAK)
			add_limits(lines, leaks, i);
	}
}

void
th_leak_lines_deinit(struct th_leak_lines *lines)
{
	th_id_map_deinit(&lines->ids);
	free(lines->items);
}

/* Bounds */

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

bool
th_leaks_is_listed(const struct th_leaks *leaks, const struct th_listed *listed)
{
	double limit = leaks->growth_limit[leaks->places.items[listed->place].heap];

	if (listed->verdict != TH_VERDICT_UNCLEAR)
		return listed->verdict == TH_VERDICT_LEAK;
	return is_unsettled(leaks, listed) ||
	       (listed->growth > 0 && (isinf(limit) || listed->growth > limit));
}

/* The answer */

const char *const th_outcome_names[] = {
	[TH_OUTCOME_FOUND] = "found",
	[TH_OUTCOME_NONE] = "none",
	[TH_OUTCOME_INCONCLUSIVE] = "inconclusive",
};

static void
add_all(const struct th_leaks *leaks, struct th_outcome *outcome)
{
	/* Worst first. */
	for (size_t i = 0; i < leaks->findings_count; i++) {
		const struct th_listed *listed = &leaks->findings[i];

		if (listed->verdict != TH_VERDICT_LEAK)
			break;
		if (!th_causes_is_part(leaks, th_causes_number_of(leaks, listed))) {
			outcome->leaks++;
			outcome->unclosed += listed->reason == TH_REASON_UNCLOSED;
		}
		outcome->bytes += listed->leaked;
		outcome->growth += listed->leaking;
	}
	for (size_t i = 0; i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (!th_causes_is_part(leaks, (uint32_t)i)) {
			outcome->leaks++;
			outcome->unclosed += th_tallied_reason(tallied) == TH_REASON_UNCLOSED;
		}
		outcome->bytes += th_tallied_bytes(tallied);
		outcome->growth += th_tallied_growth(tallied);
	}
}

uint64_t
th_leaks_of_vm(const struct th_leaks *leaks)
{
	const struct th_references *references = &leaks->references;
	uint64_t count = 0;

	for (size_t i = 0; i < leaks->ledger.findings_count; i++)
		count += leaks->ledger.items[i].verdict != TH_LEDGER_LONG;
	if (!count)
		count += (unsigned)references->globals.is_leak + references->weaks.is_leak;
	return count + (references->undetached > 0);
}

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

static void
find_outcome(const struct th_leaks *leaks, struct th_outcome *outcome)
{
	*outcome = (struct th_outcome){
		.of_vm = th_leaks_of_vm(leaks),
		.asked = (double)leaks->profile->options->limit,
		.is_reached = true,
		.is_complete = true,
		.unclear = leaks->tallies.leaks_count < leaks->tallies.items_count
				   ? &leaks->tallies.items[leaks->tallies.leaks_count]
				   : NULL,
	};
	add_all(leaks, outcome);
	for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS; heap++) {
		outcome->is_asked[heap] = is_asked_for(leaks, heap);
		outcome->is_judged[heap] = leaks->growth_limit[heap] < HUGE_VAL;
		outcome->limits[heap] = fmax(leaks->growth_limit[heap], leaks->row_limit[heap]);
		if (!outcome->is_asked[heap])
			continue;
		outcome->is_complete = outcome->is_complete && outcome->is_judged[heap];
		if (outcome->asked > 0 &&
			(!outcome->is_judged[heap] || outcome->limits[heap] > outcome->asked))
			outcome->is_reached = false;
	}
	outcome->verdict = TH_OUTCOME_NONE;
	if (outcome->leaks || outcome->of_vm)
		outcome->verdict = TH_OUTCOME_FOUND;
	else if (!outcome->is_complete || leaks->unsettled || outcome->unclear)
		outcome->verdict = TH_OUTCOME_INCONCLUSIVE;
}

void
th_leaks_conclude(struct th_leaks *leaks)
{
	find_row_limits(leaks);
	for (size_t i = 0; i < leaks->findings_count && !leaks->unsettled; i++)
		if (is_unsettled(leaks, &leaks->findings[i]))
			leaks->unsettled = &leaks->findings[i];
	find_outcome(leaks, &leaks->outcome);
}

int
th_leaks_status(const struct th_leaks *leaks)
{
	const struct th_options *options = leaks->profile->options;
	const struct th_outcome *outcome = &leaks->outcome;

	if (options->fail_on == TH_FAIL_NEVER)
		return 0;
	if (outcome->verdict == TH_OUTCOME_FOUND &&
		(options->fail_on == TH_FAIL_LEAK ||
			outcome->bytes >= (double)options->fail_bytes))
		return 1;
	if (outcome->verdict == TH_OUTCOME_INCONCLUSIVE)
		return TH_STATUS_INCONCLUSIVE;
	return outcome->is_reached ? 0 : TH_STATUS_LIMIT;
}
