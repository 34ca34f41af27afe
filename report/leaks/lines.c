/* SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks/lines.h"

#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/leaks/leaks_work.h"

/* The verdict of each group: as listed, if its finding is. */
static uint8_t *
verdicts_of_groups(const struct th_leaks *leaks)
{
	const struct th_leaks_work *work = leaks->work;
	uint8_t *verdicts = th_allocate(work->groups_count + 1, sizeof(*verdicts));

	for (size_t i = 0; i < work->groups_count; i++)
		verdicts[i] = (uint8_t)work->groups[i].verdict;
	for (size_t i = 0; i < leaks->findings_count; i++)
		verdicts[leaks->findings[i].group] = (uint8_t)leaks->findings[i].verdict;
	return verdicts;
}

static struct th_leak_line *
find_line(struct th_leak_lines *lines, const struct th_leaks *leaks, uint32_t place)
{
	const struct th_leak_site *site = &leaks->places.items[place];
	uint32_t prefix = leaks->work->makers[place];
	struct th_leak_line line = {.heap = site->heap,
		.verdict = TH_VERDICT_CHURN,
		.prefix = prefix,
		.place = place};
	bool added;

	if (leaks->profile->options->group_by)
		line.group = prefix;
	uint32_t index = th_id_map_intern(
		&lines->ids, (uint64_t)site->heap << 32 | prefix, &added);
	if (added)
		th_array_append(lines, items, line);
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
	uint8_t *verdicts = verdicts_of_groups(leaks);

	*lines = (struct th_leak_lines){0};
	for (size_t i = 0; i < work->groups_count; i++) {
		for (size_t k = 0; k < work->groups[i].places_count; k++)
			add_site(lines, leaks, work->groups[i].places[k],
				(enum th_verdict)verdicts[i]);
		if (work->groups[i].places_count && verdicts[i] == TH_VERDICT_LEAK)
			add_limits(lines, leaks, (uint32_t)i);
	}
	free(verdicts);
}

void
th_leak_lines_deinit(struct th_leak_lines *lines)
{
	th_id_map_deinit(&lines->ids);
	free(lines->items);
}
