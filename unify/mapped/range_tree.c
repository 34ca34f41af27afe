/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Treap: a search tree by `start` and a heap by `priority`, which is a hash of the node's
 * index, so that the depth is that of a random tree (Seidel and Aragon, Algorithmica 1996).
 * Splitting and joining descend once and fix one link at each step.
 */
#include "unify/mapped/range_tree.h"

#include <stddef.h>

#include "unify/shared/hash.h"

void
th_range_tree_init(
	struct th_range_tree *ranges, th_range_tree_provide *provide, uint32_t capacity)
{
	*ranges = (struct th_range_tree){
		.provide = provide, .capacity = capacity, .touched = 1};
}

/* Nodes */

static struct th_range_node *
node_at(const struct th_range_tree *ranges, uint32_t index)
{
	return &ranges->chunks[index / TH_RANGE_TREE_CHUNK][index % TH_RANGE_TREE_CHUNK];
}

/* NULL for index 0, the null node. */
static struct th_range *
range_at(const struct th_range_tree *ranges, uint32_t index)
{
	return index ? &node_at(ranges, index)->range : NULL;
}

/* Whether there is memory for a node that was never used. */
static bool
has_memory(struct th_range_tree *ranges, uint32_t index)
{
	struct th_range_node **chunk = &ranges->chunks[index / TH_RANGE_TREE_CHUNK];

	if (!*chunk)
		*chunk = ranges->provide(TH_RANGE_TREE_CHUNK * sizeof(**chunk));
	return *chunk != NULL;
}

static uint32_t
take_node(struct th_range_tree *ranges)
{
	uint32_t index = ranges->unused;

	if (index) {
		ranges->unused = node_at(ranges, index)->right;
	} else {
		if (ranges->touched >= ranges->capacity || !has_memory(ranges, ranges->touched))
			return 0;
		index = ranges->touched++;
	}
	return index;
}

/* Tree */

/* Splits a tree into the ranges that start below `address` and the rest. */
static void
split(struct th_range_tree *ranges, uint32_t root, uintptr_t address, uint32_t *below_ret,
	uint32_t *rest_ret)
{
	while (root) {
		struct th_range_node *node = node_at(ranges, root);

		if (node->range.start < address) {
			*below_ret = root;
			below_ret = &node->right;
			root = node->right;
		} else {
			*rest_ret = root;
			rest_ret = &node->left;
			root = node->left;
		}
	}
	*below_ret = 0;
	*rest_ret = 0;
}

/* Joins two trees; all ranges in `left` are below those in `right`. */
static uint32_t
join(struct th_range_tree *ranges, uint32_t left, uint32_t right)
{
	uint32_t root;
	uint32_t *link = &root;

	while (left && right) {
		struct th_range_node *a = node_at(ranges, left);
		struct th_range_node *b = node_at(ranges, right);

		if (a->priority > b->priority) {
			*link = left;
			link = &a->right;
			left = *link;
		} else {
			*link = right;
			link = &b->left;
			right = *link;
		}
	}
	*link = left ? left : right;
	return root;
}

/* The node of the last range that starts below `address`; 0: there is none. */
static uint32_t
find_before(const struct th_range_tree *ranges, uintptr_t address)
{
	uint32_t found = 0;
	uint32_t at = ranges->root;

	while (at) {
		const struct th_range_node *node = node_at(ranges, at);

		if (node->range.start < address)
			found = at;
		at = node->range.start < address ? node->right : node->left;
	}
	return found;
}

const struct th_range *
th_range_tree_find(const struct th_range_tree *ranges, uintptr_t address)
{
	const struct th_range *found = NULL;
	uint32_t at = ranges->root;

	while (at) {
		const struct th_range_node *node = node_at(ranges, at);

		if (node->range.end > address)
			found = &node->range;
		at = node->range.end > address ? node->left : node->right;
	}
	return found;
}

/* Links a node that is in no tree into the set. */
static void
link_node(struct th_range_tree *ranges, uint32_t index)
{
	struct th_range_node *node = node_at(ranges, index);
	uint32_t below, rest;

	node->left = 0;
	node->right = 0;
	split(ranges, ranges->root, node->range.start, &below, &rest);
	ranges->root = join(ranges, join(ranges, below, index), rest);
}

static bool
insert(struct th_range_tree *ranges, const struct th_range *range)
{
	uint32_t index = take_node(ranges);
	struct th_range_node *node = node_at(ranges, index);

	if (!index)
		return false;
	node->range = *range;
	node->priority = (uint32_t)th_hash_mix(index);
	link_node(ranges, index);
	return true;
}

/* Makes `address` a border of ranges. */
static void
cut_at(struct th_range_tree *ranges, uintptr_t address)
{
	uint32_t index = find_before(ranges, address);
	struct th_range *range = range_at(ranges, index);

	if (!range || range->end <= address)
		return;
	struct th_range behind = *range;

	behind.start = address;
	range->end = address;
	if (!insert(ranges, &behind))
		ranges->lost++;
}

/* Turns a tree into a list (the first half of Stout and Warren, CACM 1986). */
static struct th_range_list
flatten(struct th_range_tree *ranges, uint32_t root)
{
	struct th_range_list list = {root, 0};
	uint32_t *link = &list.first;

	while (*link) {
		struct th_range_node *node = node_at(ranges, *link);

		if (node->left) {
			uint32_t left = node->left;

			node->left = node_at(ranges, left)->right;
			node_at(ranges, left)->right = *link;
			*link = left;
		} else {
			list.last = *link;
			link = &node->right;
		}
	}
	return list;
}

/* Ranges */

static bool
are_alike(const struct th_range *a, const struct th_range *b)
{
	return a->sample == b->sample && a->place == b->place && a->owner == b->owner &&
	       a->flags == b->flags;
}

/* Extends a neighbour of a gap into it; false: there is no matching neighbour. */
static bool
grow_neighbour(struct th_range_tree *ranges, const struct th_range *range)
{
	uint32_t before = find_before(ranges, range->start);
	uint32_t behind = find_before(ranges, range->end + 1);
	struct th_range *low = range_at(ranges, before);
	struct th_range *high = range_at(ranges, behind);

	if (low && low->end == range->start && are_alike(low, range)) {
		low->end = range->end;
		return true;
	}
	/* Moving a start within the gap below it does not change the order. */
	if (high && high->start == range->end && are_alike(high, range)) {
		high->start = range->start;
		return true;
	}
	return false;
}

bool
th_range_tree_put(struct th_range_tree *ranges, const struct th_range *range, bool joins)
{
	return (joins && grow_neighbour(ranges, range)) || insert(ranges, range);
}

struct th_range_list
th_range_tree_cut(struct th_range_tree *ranges, uintptr_t start, uintptr_t end)
{
	uint32_t below, inside, above;

	cut_at(ranges, start);
	cut_at(ranges, end);
	split(ranges, ranges->root, start, &below, &inside);
	split(ranges, inside, end, &inside, &above);
	ranges->root = join(ranges, below, above);
	return flatten(ranges, inside);
}

uint64_t
th_range_tree_set_sample(struct th_range_tree *ranges, uintptr_t start, uintptr_t end,
	uint64_t born, uint64_t sample)
{
	uint64_t bytes = 0;

	for (;;) {
		uint32_t index = find_before(ranges, end);
		struct th_range *range = range_at(ranges, index);

		if (!range || range->start < start)
			return bytes;
		if (range->born == born) {
			range->sample = sample;
			bytes += range->end - range->start;
		}
		end = range->start;
	}
}

static void
append(struct th_range_tree *ranges, struct th_range_list *list, uint32_t index)
{
	node_at(ranges, index)->right = 0;
	if (list->first)
		node_at(ranges, list->last)->right = index;
	else
		list->first = index;
	list->last = index;
}

struct th_range_list
th_range_tree_take_younger(
	struct th_range_tree *ranges, struct th_range_list *list, uint64_t born)
{
	struct th_range_list older = {0, 0};
	struct th_range_list younger = {0, 0};
	uint32_t next;

	for (uint32_t i = list->first; i; i = next) {
		next = th_range_tree_after(ranges, i);
		append(ranges, th_range_tree_at(ranges, i)->born > born ? &younger : &older, i);
	}
	*list = older;
	return younger;
}

void
th_range_tree_put_back(struct th_range_tree *ranges, struct th_range_list list, bool joins)
{
	uint32_t next;

	for (uint32_t i = list.first; i; i = next) {
		next = th_range_tree_after(ranges, i);
		if (joins && grow_neighbour(ranges, th_range_tree_at(ranges, i)))
			th_range_tree_release(ranges, (struct th_range_list){i, i});
		else
			link_node(ranges, i);
	}
}

void
th_range_tree_release(struct th_range_tree *ranges, struct th_range_list list)
{
	if (!list.first)
		return;
	for (uint32_t i = list.first; i != list.last; i = th_range_tree_after(ranges, i))
		th_range_tree_at(ranges, i)->end = 0;
	th_range_tree_at(ranges, list.last)->end = 0;
	node_at(ranges, list.last)->right = ranges->unused;
	ranges->unused = list.first;
}

/* Copies of a set that may have changed meanwhile */

void
th_range_tree_clear(struct th_range_tree *ranges)
{
	ranges->touched = 1;
	ranges->unused = 0;
	ranges->root = 0;
	ranges->lost = 0;
}

void
th_range_tree_add_copies(
	struct th_range_tree *ranges, const struct th_range_node *nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct th_range *range = &nodes[i].range;
		const struct th_range *next = th_range_tree_find(ranges, range->start);

		if (range->start < range->end && (!next || next->start >= range->end))
			th_range_tree_put(ranges, range, false);
	}
}
