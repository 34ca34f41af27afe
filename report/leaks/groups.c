/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of judged sites (leaks_work.h). A group has one heap and one verdict; its sites share a
 * line of the application, or the node at which their growth was found.
 */
#include "report/leaks/leaks_work.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/profile/sites.h"

/* Sites of one line */

static bool
find_constructor(const struct th_leaks *leaks, uint32_t function)
{
	const char *name = th_frames_function_name(leaks->profile->frames, function);
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, ".<init>") &&
	       th_sites_is_application(leaks->profile->frames, function);
}

/* Asked for every site, and names are scattered in memory. */
static bool
is_constructor(const struct th_leaks *leaks, uint32_t function)
{
	uint8_t *known = &leaks->work->functions[function].is_constructor;

	if (*known == TH_NOT_ASKED)
		*known = find_constructor(leaks, function) ? TH_ANSWER_YES : TH_ANSWER_NO;
	return *known == TH_ANSWER_YES;
}

uint32_t
th_leaks_maker(struct th_leaks *leaks, const struct th_leak_site *place)
{
	const struct th_frames *frames = leaks->profile->frames;
	struct th_path path = th_paths_get(leaks->profile->paths, place->path);
	uint32_t length, maker;

	if (leaks->profile->options->group_by)
		return th_leaks_group(leaks, place);
	if (!place->creator || place->internal)
		return place->creator ? place->creator : place->way;
	if (!is_constructor(leaks, leaks->places.ways.items[place->creator].function))
		return place->creator;
	length = leaks->places.ways.items[place->creator].length;
	while (length > 1 &&
		is_constructor(leaks, th_frames_function_at(frames, path.frames[length - 1])) &&
		th_sites_is_application(
			frames, th_frames_function_at(frames, path.frames[length - 2])))
		length--;
	th_path_prefixes_add(&leaks->places.ways, place->path, length, &maker);
	return maker;
}

/* Key that related sites of a heap share. */
static uint64_t
relation_of(const struct th_leaks_work *work, uint32_t number)
{
	return (uint64_t)work->leaks->places.items[number].heap << 32 | work->makers[number];
}

/* The node of a site whose growth was found above its line. */
static uint32_t
node_of(const struct th_leaks_work *work, uint32_t number)
{
	uint32_t node = work->nodes[number];

	return node == TH_NO_NODE || work->found[node].level == TH_LEVEL_LINE ? TH_NO_NODE
									      : node;
}

static struct th_leak_group *
find_group(struct th_leaks_work *work, uint32_t number, enum th_verdict verdict)
{
	uint32_t node = verdict == TH_VERDICT_LEAK ? node_of(work, number) : TH_NO_NODE;
	struct th_leak_group group = {.heap = work->leaks->places.items[number].heap,
		.verdict = verdict,
		.node = node,
		.next = TH_NO_GROUP};
	uint64_t key = node == TH_NO_NODE ? (uint64_t)verdict << 40 | relation_of(work, number)
					  : UINT64_MAX - node;
	bool added;
	uint32_t index = th_id_map_intern(&work->group_ids, key, &added);

	if (added)
		th_array_append(work, groups, group);
	return &work->groups[index];
}

static void
join(struct th_leaks_work *work, uint32_t number, enum th_verdict verdict)
{
	struct th_leak_group *group = find_group(work, number, verdict);

	/* Most have one site. */
	if (!group->places) {
		group->places = th_allocate(1, sizeof(*group->places));
		group->places_capacity = 1;
	}
	th_array_append(group, places, number);
}

/* The number of the leak of the line of a site; TH_ID_MAP_NONE if there is none. */
static uint32_t
leak_of_line(const struct th_leaks_work *work, uint32_t number)
{
	return th_id_map_find(
		&work->group_ids, (uint64_t)TH_VERDICT_LEAK << 40 | relation_of(work, number));
}

static void
move_places(struct th_leaks_work *work, struct th_leak_group *from, enum th_verdict verdict)
{
	uint32_t *places = from->places;
	size_t count = from->places_count;

	from->places = NULL;
	from->places_count = from->places_capacity = 0;
	for (size_t i = 0; i < count; i++)
		join(work, places[i], verdict);
	free(places);
}

/*
 * Related sites that are unclear one by one may have a clear verdict together. A leak is not
 * among them, resident memory aside: levels.c has tested for that, with all sites of the line.
 */
static struct th_outline
judge_together(struct th_leaks_work *work, const struct th_leak_group *group)
{
	const struct th_leak_site *place = &work->leaks->places.items[group->places[0]];
	struct th_outline outline = work->outlines[group->places[0]];
	struct th_evidence evidence;

	/* A group of one site has already been evaluated. */
	if (group->places_count == 1)
		return outline;
	th_leaks_evaluate(work, group->heap, group->places, group->places_count,
		TH_SITE_SHARE * TH_ERROR_RATE, &evidence, NULL);
	if (place->internal)
		th_evidence_set_internal(&evidence);
	outline = th_evidence_outline(&evidence);
	if (evidence.verdict == TH_VERDICT_LEAK && evidence.reason != TH_REASON_RESIDENT)
		outline.verdict = TH_VERDICT_UNCLEAR;
	return outline;
}

/* Beside a leak of the same line, unclear sites are part of it if any sample is alive. */
static void
judge_unclear(struct th_leaks_work *work)
{
	size_t count = work->groups_count;

	for (size_t i = 0; i < count; i++) {
		struct th_leak_group *group = &work->groups[i];

		if (group->verdict != TH_VERDICT_UNCLEAR || !group->places_count)
			continue;
		struct th_outline outline = judge_together(work, group);
		enum th_verdict verdict = (enum th_verdict)outline.verdict;
		if (verdict == TH_VERDICT_UNCLEAR && outline.is_alive &&
			leak_of_line(work, group->places[0]) != TH_ID_MAP_NONE)
			verdict = TH_VERDICT_LEAK;
		if (verdict != TH_VERDICT_UNCLEAR)
			move_places(work, group, verdict);
	}
}

/*
 * Of the many sites of a leak some seem to have stopped by chance, and some have no survivor in
 * the later half; they are part of the leak.
 */
static void
judge_stopped(struct th_leaks_work *work)
{
	for (size_t i = 0; i < work->groups_count; i++) {
		struct th_leak_group *group = &work->groups[i];
		size_t kept = 0;

		if (group->verdict != TH_VERDICT_PLATEAU || !group->places_count)
			continue;
		uint32_t leak = leak_of_line(work, group->places[0]);
		if (leak == TH_ID_MAP_NONE)
			continue;
		size_t related = work->groups[leak].places_count + group->places_count;
		for (size_t k = 0; k < group->places_count; k++) {
			uint32_t place = group->places[k];

			if (th_outline_may_pause(&work->outlines[place], related) ||
				th_outline_may_belong(&work->outlines[place]))
				join(work, place, TH_VERDICT_LEAK);
			else
				group->places[kept++] = place;
		}
		group->places_count = kept;
	}
}

void
th_groups_form(struct th_leaks_work *work)
{
	for (uint32_t i = 0; i < work->leaks->places.items_count; i++)
		join(work, i,
			work->nodes[i] == TH_NO_NODE
				? (enum th_verdict)work->outlines[i].verdict
				: TH_VERDICT_LEAK);
	judge_unclear(work);
	judge_stopped(work);
	if (!work->leaks->profile->options->group_by)
		th_groups_unite(work);
}

void
th_groups_deinit(struct th_leaks_work *work)
{
	for (size_t i = 0; i < work->groups_count; i++)
		free(work->groups[i].places);
	th_id_map_deinit(&work->group_ids);
	free(work->groups);
}

/* Findings */

uint32_t
th_groups_largest(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	uint32_t largest = group->places[0];

	for (size_t i = 1; i < group->places_count; i++) {
		uint32_t number = group->places[i];

		if (work->outlines[number].live > work->outlines[largest].live)
			largest = number;
	}
	return largest;
}

/* The sites were judged before; the figures of the group must not overrule that. */
static void
set_verdict(const struct th_leaks_work *work, const struct th_leak_group *group,
	struct th_evidence *evidence)
{
	if (evidence->verdict == group->verdict)
		return;
	if (group->verdict == TH_VERDICT_LEAK) {
		evidence->verdict = TH_VERDICT_LEAK;
		evidence->reason = TH_REASON_GROWS;
	}
	for (size_t i = 0; i < group->places_count; i++) {
		const struct th_outline *one = &work->outlines[group->places[i]];

		if (one->verdict == group->verdict) {
			evidence->verdict = group->verdict;
			evidence->reason = (enum th_reason)one->reason;
		}
	}
}

static uint32_t
count_lines(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	struct th_id_map lines = {0};
	uint32_t count = 0;

	for (size_t i = 0; i < group->places_count; i++) {
		bool added;

		th_id_map_intern(&lines, work->makers[group->places[i]], &added);
		count += added;
	}
	th_id_map_deinit(&lines);
	return count;
}

static void
set_node(const struct th_leaks_work *work, const struct th_leak_group *group,
	struct th_finding *finding)
{
	finding->lines = count_lines(work, group);
	finding->next = group->next;
	if (group->node == TH_NO_NODE)
		return;
	finding->level = work->found[group->node].level;
	finding->key = work->found[group->node].key;
}

/* The owner of what is allocated at another line of the same finding. */
static struct th_owner
owner_of_next(struct th_leaks_work *work, const struct th_leak_group *group)
{
	uint32_t next = group->next;

	while (next != TH_NO_GROUP && work->groups[next].heap != TH_HEAP_NATIVE)
		next = work->groups[next].next;
	return next == TH_NO_GROUP ? (struct th_owner){.place = TH_NO_PLACE}
				   : th_groups_judge(work, &work->groups[next]).owner;
}

struct th_finding
th_groups_judge(struct th_leaks_work *work, const struct th_leak_group *group)
{
	struct th_finding finding = {
		.place = th_groups_largest(work, group),
		.place_count = (uint32_t)group->places_count,
	};
	const struct th_leak_site *place = &work->leaks->places.items[finding.place];
	double limit = group->node == TH_NO_NODE ? TH_SITE_SHARE * TH_ERROR_RATE
						 : work->found[group->node].chance_limit;

	th_leaks_evaluate(work, group->heap, group->places, group->places_count, limit,
		&finding.evidence, &finding.sums);
	set_verdict(work, group, &finding.evidence);
	if (place->internal)
		th_evidence_set_internal(&finding.evidence);
	set_node(work, group, &finding);
	finding.owner = th_owners_find(
		work, group->places, group->places_count, finding.evidence.survivors);
	if (finding.owner.is_collected)
		th_evidence_set_owners_gone(
			&finding.evidence, &work->judges[group->heap], &finding.sums);
	else if (group->heap == TH_HEAP_NATIVE && finding.owner.place == TH_NO_PLACE)
		finding.owner = owner_of_next(work, group);
	if (finding.evidence.verdict == TH_VERDICT_LEAK &&
		th_owners_await_finalizer(work->leaks, finding.place))
		th_evidence_decide(&finding.evidence, TH_VERDICT_LEAK, TH_REASON_UNCLOSED);
	return finding;
}
