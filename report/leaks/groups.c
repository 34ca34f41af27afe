/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of judged sites (leaks_work.h). A group has one heap and one verdict; its sites share a
 * line of the application, or the node at which their growth was found. Several groups are one finding:
 * leaks in several heaps that share a line of the application, and native blocks with the Java objects
 * that own them. The group with most live bytes leads.
 */
#include "report/leaks/leaks_work.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "unify/shared/hash.h"

/* Sites of one line */

/* Of a class of the application. */
static bool
is_constructor(const struct th_leaks *leaks, uint32_t function)
{
	return leaks->work->functions[function].is_constructor &&
	       th_frames_function(leaks->profile->frames, function)->is_application;
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
		th_frames_function_of(frames, path.frames[length - 2])->is_application)
		length--;
	th_path_prefixes_add(&leaks->places.ways, place->path, length, &maker);
	return maker;
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
		.leader = (uint32_t)work->groups_count,
		.next = TH_NO_GROUP};
	uint64_t key = node == TH_NO_NODE
			       ? (uint64_t)verdict << 40 | th_leaks_relation(work, number)
			       : UINT64_MAX - node;
	uint32_t index = th_id_map_enter(&work->group_ids, key, work, groups, group);

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
	return th_id_map_find(&work->group_ids,
		(uint64_t)TH_VERDICT_LEAK << 40 | th_leaks_relation(work, number));
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
		TH_SITE_SHARE * TH_ERROR_RATE, &evidence);
	if (place->internal)
		th_evidence_set_internal(&evidence);
	outline = th_evidence_outline(&evidence, &work->judges[group->heap]);
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

/* Several groups */

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

static double
live_of(const struct th_leaks_work *work, uint32_t number)
{
	const struct th_leak_group *group = &work->groups[number];
	double live = 0;

	for (size_t i = 0; i < group->places_count; i++)
		live += work->outlines[group->places[i]].live;
	return live;
}

/*
 * Whether group `a` is to lead a finding of both: a leak does, that of a method above several
 * lines, the one with more live bytes.
 */
static bool
leads(const struct th_leaks_work *work, uint32_t a, uint32_t b)
{
	enum th_verdict left = work->groups[a].verdict;
	enum th_verdict right = work->groups[b].verdict;

	if (left != right)
		return left < right;
	if ((work->groups[a].node == TH_NO_NODE) != (work->groups[b].node == TH_NO_NODE))
		return work->groups[a].node != TH_NO_NODE;
	return live_of(work, a) >= live_of(work, b);
}

static uint32_t
leader_of(const struct th_leaks_work *work, uint32_t number)
{
	while (work->groups[number].leader != number)
		number = work->groups[number].leader;
	return number;
}

static void
unite(struct th_leaks_work *work, uint32_t a, uint32_t b)
{
	uint32_t left = leader_of(work, a);
	uint32_t right = leader_of(work, b);

	if (leads(work, left, right))
		work->groups[right].leader = left;
	else
		work->groups[left].leader = right;
}

/* Moves the sites of a group to another one of the same heap. */
static void
absorb(struct th_leak_group *group, struct th_leak_group *other)
{
	for (size_t i = 0; i < other->places_count; i++)
		th_array_append(group, places, other->places[i]);
	other->places_count = 0;
}

/* What the groups of one line share, in any heap; 0: no line. */
static uint64_t
line_of(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	const struct th_leak_site *place = &work->leaks->places.items[group->places[0]];

	if (group->node != TH_NO_NODE)
		return work->found[group->node].key;
	return place->creator && !place->internal ? work->makers[group->places[0]] : 0;
}

/* Groups by what they have in common. */
struct shared {
	struct th_id_map keys;
	TH_ARRAY(uint32_t, first); /* leak, by number of the key */
};

/*
 * The first leak with this key, other than the group itself; TH_NO_GROUP: there is none.  What is
 * unclear joins leaks only.
 */
static uint32_t
first_with(
	struct shared *shared, const struct th_leaks_work *work, uint64_t key, uint32_t number)
{
	bool added = false;
	uint32_t index = !key ? TH_ID_MAP_NONE
			 : work->groups[number].verdict == TH_VERDICT_LEAK
				 ? th_id_map_intern(&shared->keys, key, &added)
				 : th_id_map_find(&shared->keys, key);

	if (added)
		th_array_append(shared, first, number);
	return added || index == TH_ID_MAP_NONE ? TH_NO_GROUP : shared->first[index];
}

static void
shared_deinit(struct shared *shared)
{
	th_id_map_deinit(&shared->keys);
	free(shared->first);
}

/*
 * The groups of a verdict join the first leak with the same key, or become sites of it.  Leaks come first,
 * so that what is unclear joins a leak.
 */
static void
unite_by(struct th_leaks_work *work, enum th_verdict verdict, struct shared *shared,
	uint64_t key_of(const struct th_leaks_work *work, const struct th_leak_group *group),
	bool absorbs)
{
	for (uint32_t i = 0; i < work->groups_count; i++) {
		struct th_leak_group *group = &work->groups[i];

		if (group->verdict != verdict || !group->places_count || live_of(work, i) <= 0)
			continue;
		uint32_t first = first_with(shared, work, key_of(work, group), i);
		if (first != TH_NO_GROUP && absorbs)
			absorb(&work->groups[first], group);
		else if (first != TH_NO_GROUP)
			unite(work, first, i);
	}
}

/* A leak of native blocks and that of the Java objects that own them. */
static void
unite_owners(struct th_leaks_work *work)
{
	size_t count = work->leaks->places.items_count;
	uint32_t *leak_of_place = th_allocate(count, sizeof(*leak_of_place));

	memset(leak_of_place, 0xff, count * sizeof(*leak_of_place)); /* TH_NO_GROUP */
	for (uint32_t i = 0; i < work->groups_count; i++)
		for (size_t k = 0; k < work->groups[i].places_count; k++)
			if (work->groups[i].verdict == TH_VERDICT_LEAK)
				leak_of_place[work->groups[i].places[k]] = i;
	for (uint32_t i = 0; i < work->groups_count; i++) {
		const struct th_leak_group *group = &work->groups[i];
		struct th_owner owner;

		if (group->verdict != TH_VERDICT_LEAK || !group->places_count)
			continue;
		owner = th_owners_find(work, group->places, group->places_count, 0);
		if (owner.place != TH_NO_PLACE && leak_of_place[owner.place] != TH_NO_GROUP)
			unite(work, leak_of_place[owner.place], i);
	}
	free(leak_of_place);
}

/* The library of the last method of a path (struct th_function). */
static uint32_t
library_of(const struct th_leaks_work *work, uint32_t way)
{
	return th_frames_function(
		work->leaks->profile->frames, work->leaks->places.ways.items[way].function)
		->library;
}

/* A path to a method that uses a library. */
static uint64_t
key_of(const struct th_path_prefix_cursor *cursor, uint32_t library, enum th_heap heap)
{
	return th_hash_mix(cursor->hash ^ th_hash_mix((uint64_t)library << 8 | heap));
}

/* The leak at the nearest caller of a line for which `nodes` has its library; TH_NO_GROUP: none. */
static uint32_t
node_above(const struct th_leaks_work *work, const struct shared *nodes,
	const struct th_leak_group *line, enum th_heap heap)
{
	uint32_t creator = work->leaks->places.items[line->places[0]].creator;
	struct th_path_prefix_cursor cursor = th_path_prefixes_last(
		&work->leaks->places.ways, creator);
	uint32_t index = TH_ID_MAP_NONE;
	uint32_t function;

	while (creator && index == TH_ID_MAP_NONE && th_path_prefixes_step(&cursor, &function))
		index = th_id_map_find(
			&nodes->keys, key_of(&cursor, library_of(work, creator), heap));
	return index == TH_ID_MAP_NONE ? TH_NO_GROUP : nodes->first[index];
}

/* The methods of others at which growth of lines of a library was found. */
static void
find_nodes(const struct th_leaks_work *work, struct shared *nodes)
{
	const struct th_leak_sites *places = &work->leaks->places;

	for (uint32_t i = 0; i < work->groups_count; i++) {
		const struct th_leak_group *group = &work->groups[i];

		if (!group->places_count || group->node == TH_NO_NODE)
			continue;
		uint32_t creator = places->items[group->places[0]].creator;
		uint32_t way = work->found[group->node].key;
		struct th_path_prefix_cursor cursor = th_path_prefixes_last(&places->ways, way);
		if (creator && library_of(work, creator) != library_of(work, way))
			first_with(nodes, work,
				key_of(&cursor, library_of(work, creator), group->heap), i);
	}
}

/* Leaks of single lines of a library become part of the leak of the method that uses it. */
static void
unite_uses(struct th_leaks_work *work)
{
	struct shared nodes = {0};

	find_nodes(work, &nodes);
	for (uint32_t i = 0; i < work->groups_count && nodes.first_count; i++) {
		struct th_leak_group *line = &work->groups[i];

		if (line->verdict != TH_VERDICT_LEAK || !line->places_count ||
			line->node != TH_NO_NODE)
			continue;
		uint32_t node = node_above(work, &nodes, line, line->heap);
		if (node != TH_NO_GROUP)
			absorb(&work->groups[node], line);
		for (enum th_heap heap = TH_HEAP_JAVA; heap < TH_HEAPS && line->places_count;
			heap++) {
			node = node_above(work, &nodes, line, heap);
			if (node != TH_NO_GROUP)
				unite(work, node, i);
		}
	}
	shared_deinit(&nodes);
}

/*
 * What names the finding of a group: its heap, the line of the creator and that of its user, which is
 * in another library; 0: it has none of them.  Leaks of one line of a library that one line of its user
 * leads to, on different ways through the library, have the same, and what is unclear there.  Those of a
 * library that calls the creator's, as frameworks do, have creators of their own.
 */
static uint64_t
title_of(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	const struct th_leak_sites *places = &work->leaks->places;
	const struct th_leak_site *place;
	uint64_t user;

	if (!group->places_count || group->node != TH_NO_NODE)
		return 0;
	place = &places->items[th_groups_largest(work, group)];
	if (!place->creator || place->internal)
		return 0;
	user = th_leak_sites_user_frame(places, place);
	if (user == TH_NO_FRAME)
		return 0;
	return ((uint64_t)th_leak_sites_creator_frame(places, place) << 32 | user) * TH_HEAPS +
	       (uint64_t)group->heap;
}

/* The method of the program that uses the library of a leak, and its caller; 0: it is no method of it. */
struct user {
	uint64_t method;
	uint64_t caller;
};

static struct user
user_of(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	const struct th_frames *frames = work->leaks->profile->frames;
	const struct th_leak_sites *places = &work->leaks->places;
	const struct th_leak_site *place = &places->items[th_groups_largest(work, group)];
	struct th_path_prefix_cursor before, cursor;
	struct user user = {0};
	uint32_t function, library;

	if (!title_of(work, group))
		return user;
	library = library_of(work, place->creator);
	cursor = th_path_prefixes_last(&places->ways, place->creator);
	do {
		before = cursor;
		if (!th_path_prefixes_step(&cursor, &function))
			return user;
	} while (!th_frames_function(frames, function)->is_program ||
		 th_frames_function(frames, function)->library == library);
	user.method = key_of(&before, library, group->heap);
	before = cursor;
	if (th_path_prefixes_step(&cursor, &function) &&
		th_frames_function(frames, function)->is_program)
		user.caller = key_of(&before, library, group->heap);
	return user;
}

/*
 * Leaks of lines of one library that one method of the program uses, itself or through a method that it
 * calls: what the library keeps for one object is allocated when that is made and when it is used.
 */
static void
unite_users(struct th_leaks_work *work)
{
	struct user *users = th_allocate(work->groups_count, sizeof(*users));
	struct shared methods = {0};

	for (uint32_t i = 0; i < work->groups_count; i++) {
		const struct th_leak_group *group = &work->groups[i];

		if (group->verdict != TH_VERDICT_LEAK || !group->places_count)
			continue;
		users[i] = user_of(work, group);
		uint32_t first = first_with(&methods, work, users[i].method, i);
		if (first != TH_NO_GROUP)
			unite(work, first, i);
	}
	for (uint32_t i = 0; i < work->groups_count; i++) {
		uint32_t index = users[i].caller
					 ? th_id_map_find(&methods.keys, users[i].caller)
					 : TH_ID_MAP_NONE;

		if (index != TH_ID_MAP_NONE)
			unite(work, methods.first[index], i);
	}
	shared_deinit(&methods);
	free(users);
}

/* Links the groups of each finding behind the one that leads it. */
static void
link_groups(struct th_leaks_work *work)
{
	for (uint32_t i = 0; i < work->groups_count; i++) {
		uint32_t leader = leader_of(work, i);

		if (leader == i)
			continue;
		work->groups[i].next = work->groups[leader].next;
		work->groups[leader].next = i;
	}
}

static void
unite_groups(struct th_leaks_work *work)
{
	struct shared lines = {0}, titles = {0};

	unite_uses(work);
	unite_by(work, TH_VERDICT_LEAK, &titles, title_of, true);
	unite_by(work, TH_VERDICT_UNCLEAR, &titles, title_of, true);
	unite_users(work);
	unite_by(work, TH_VERDICT_LEAK, &lines, line_of, false);
	unite_owners(work);
	unite_by(work, TH_VERDICT_UNCLEAR, &lines, line_of, false);
	link_groups(work);
	shared_deinit(&titles);
	shared_deinit(&lines);
}

/* All groups */

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
		unite_groups(work);
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

/* The sites were judged before; the figures of the group must not overrule that. */
static void
set_verdict(const struct th_leaks_work *work, const struct th_leak_group *group,
	struct th_evidence *evidence)
{
	if (evidence->verdict == group->verdict)
		return;
	if (group->verdict == TH_VERDICT_LEAK)
		th_evidence_decide(evidence, TH_VERDICT_LEAK, TH_REASON_GROWS);
	for (size_t i = 0; i < group->places_count; i++) {
		const struct th_outline *one = &work->outlines[group->places[i]];

		if (one->verdict == group->verdict)
			th_evidence_decide(
				evidence, group->verdict, (enum th_reason)one->reason);
	}
}

static uint32_t
count_lines(const struct th_leaks_work *work, const struct th_leak_group *group)
{
	struct th_id_map lines = {0};

	for (size_t i = 0; i < group->places_count; i++)
		th_id_map_intern(&lines, work->makers[group->places[i]], NULL);
	uint32_t count = lines.count;
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
		&finding.evidence);
	set_verdict(work, group, &finding.evidence);
	if (place->internal)
		th_evidence_set_internal(&finding.evidence);
	set_node(work, group, &finding);
	finding.owner = th_owners_find(
		work, group->places, group->places_count, finding.evidence.survivors);
	if (finding.owner.is_collected)
		th_evidence_set_owners_gone(&finding.evidence, &work->judges[group->heap]);
	else if (group->heap == TH_HEAP_NATIVE && finding.owner.place == TH_NO_PLACE)
		finding.owner = owner_of_next(work, group);
	if (finding.evidence.verdict == TH_VERDICT_LEAK &&
		th_owners_await_finalizer(work->leaks, finding.place))
		th_evidence_decide(&finding.evidence, TH_VERDICT_LEAK, TH_REASON_UNCLOSED);
	return finding;
}
