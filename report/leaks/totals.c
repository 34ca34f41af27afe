/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the groups of a finding, and over all findings that are leaks. */
#include "report/leaks/leaks_work.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/leaks/causes.h"

static int
compare_parts(const void *a, const void *b)
{
	const struct th_leak_part *left = a;
	const struct th_leak_part *right = b;

	if (left->live != right->live)
		return left->live < right->live ? 1 : -1;
	return (left->place > right->place) - (left->place < right->place);
}

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
	if (count)
		qsort(list.items, count, sizeof(*list.items), compare_parts);
	for (size_t i = 0; i < count && i < capacity; i++)
		parts[i] = list.items[i];
	free(list.items);
	return count;
}

void
th_groups_sum(struct th_leaks_work *work, struct th_leak_group *group,
	const struct th_finding *finding)
{
	const struct th_evidence *evidence = &finding->evidence;

	group->is_summed = true;
	if (evidence->verdict != TH_VERDICT_LEAK)
		return;
	group->leaked = th_evidence_live_low(
		evidence, &work->judges[group->heap], &finding->sums);
	group->growth = evidence->growth.estimate;
}

/* The same; of a single site that is a leak by itself its outline has it. */
static void
sum_group(struct th_leaks_work *work, struct th_leak_group *group)
{
	const struct th_outline *one = &work->outlines[group->places[0]];

	if (group->places_count > 1 || group->verdict != TH_VERDICT_LEAK ||
		one->verdict != TH_VERDICT_LEAK || group->node != TH_NO_NODE) {
		struct th_finding finding = th_groups_judge(work, group);

		th_groups_sum(work, group, &finding);
		return;
	}
	group->is_summed = true;
	group->leaked = one->live_low;
	group->growth = one->growth;
}

/* Adds the leaks of a finding in all heaps. */
static void
add_totals(const struct th_leaks *leaks, const struct th_listed *listed,
	struct th_leaks_totals *totals)
{
	struct th_leaks_work *work = leaks->work;

	for (uint32_t i = listed->group; i != TH_NO_GROUP; i = work->groups[i].next) {
		struct th_leak_group *group = &work->groups[i];

		if (!group->is_summed)
			sum_group(work, group);
		totals->bytes += group->leaked;
		if (group->growth > 0)
			totals->growth += group->growth;
	}
}

struct th_leaks_totals
th_leaks_totals(const struct th_leaks *leaks)
{
	struct th_leaks_totals *totals = &leaks->work->totals;

	if (leaks->work->has_totals)
		return *totals;
	/* Worst first. */
	for (size_t i = 0; i < leaks->findings_count; i++) {
		if (leaks->findings[i].verdict != TH_VERDICT_LEAK)
			break;
		uint32_t number = th_causes_number_of(leaks, &leaks->findings[i]);

		if (!th_causes_is_part(leaks, number)) {
			totals->leaks++;
			totals->unclosed += leaks->findings[i].reason == TH_REASON_UNCLOSED;
		}
		add_totals(leaks, &leaks->findings[i], totals);
	}
	for (size_t i = 0; i < leaks->tallies.leaks_count; i++) {
		const struct th_tallied *tallied = &leaks->tallies.items[i];

		if (!th_causes_is_part(leaks, (uint32_t)i)) {
			totals->leaks++;
			totals->unclosed += th_tallied_reason(tallied) == TH_REASON_UNCLOSED;
		}
		totals->bytes += th_tallied_bytes(tallied);
		totals->growth += th_tallied_growth(tallied);
	}
	leaks->work->has_totals = true;
	return *totals;
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

double
th_leaks_bytes(const struct th_leaks *leaks)
{
	return th_leaks_totals(leaks).bytes;
}
