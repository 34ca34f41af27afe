/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of disjoint address ranges, each with what is known of it: a treap over a bounded pool of
 * nodes.  Ranges are cut at any address, taken out in lists and put back elsewhere.
 *
 * No locks, no recursion, no system calls except in `provide`; every operation takes O(log n) and
 * what it returns.
 */
#ifndef TH_UNIFY_MAPPED_RANGE_TREE_H
#define TH_UNIFY_MAPPED_RANGE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct th_range {
	uintptr_t start;
	uintptr_t end; /* > start */
	/* 0 = none; the meaning is the caller's, as is that of the following. */
	uint64_t sample;
	uint64_t place;
	uint64_t born;
	uint32_t owner;
	uint32_t flags;
};

struct th_range_node {
	struct th_range range;
	uint32_t left; /* indices of nodes; 0 = none */
	uint32_t right;
	uint32_t priority;
};

/* Nodes come so many at a time, 68 KiB. */
#define TH_RANGE_TREE_CHUNK 1024u
#define TH_RANGE_TREE_CHUNKS_MAX 128u

/* Provides `bytes` of zeros for good; NULL: there are none. */
typedef void *th_range_tree_provide(size_t bytes);

struct th_range_tree {
	th_range_tree_provide *provide;
	struct th_range_node
		*chunks[TH_RANGE_TREE_CHUNKS_MAX]; /* the first node is never used */
	uint32_t capacity;                         /* of nodes */
	uint32_t touched; /* nodes that were ever in use, and the first */
	uint32_t unused;  /* list by `right` */
	uint32_t root;
	uint32_t count;
	uint64_t lost; /* pieces that a cut would have left, had there been a node for them */
};

/* Ranges that were taken out, in ascending order; they keep their nodes. */
struct th_range_list {
	uint32_t first;
	uint32_t last;
};

/*
 * An empty set of at most `capacity` nodes, the unused first one among them, up to
 * TH_RANGE_TREE_CHUNK * TH_RANGE_TREE_CHUNKS_MAX.  `provide` is called as nodes are needed, and may be
 * called in any function that enters or cuts ranges. [any]
 */
void th_range_tree_init(
	struct th_range_tree *ranges, th_range_tree_provide *provide, uint32_t capacity);

/* The first range that ends behind `address`; NULL: there is none. [in-malloc] */
const struct th_range *
th_range_tree_find(const struct th_range_tree *ranges, uintptr_t address);

/*
 * Enters a range where there is none, and grows a neighbour instead if `joins` is set and they
 * differ in nothing but their bounds and `born`.  False: no node is left. [in-malloc]
 */
bool th_range_tree_put(struct th_range_tree *ranges, const struct th_range *range, bool joins);

/*
 * Takes out all that lies in [start, end).  A range that reaches beyond is cut; when no node is
 * left for the part behind, that part is lost and counted. [in-malloc]
 */
struct th_range_list
th_range_tree_cut(struct th_range_tree *ranges, uintptr_t start, uintptr_t end);

/*
 * Gives all that lies in [start, end) and has that `born` a sample; returns how many bytes that
 * are. [in-malloc]
 */
uint64_t th_range_tree_set_sample(struct th_range_tree *ranges, uintptr_t start, uintptr_t end,
	uint64_t born, uint64_t sample);

/*
 * The ranges of a list: for (i = list.first; i; i = th_range_tree_after(ranges, i)).  The caller's
 * own until the list is released: needs no lock. [in-malloc]
 */
static inline struct th_range *
th_range_tree_at(const struct th_range_tree *ranges, uint32_t node)
{
	return &ranges->chunks[node / TH_RANGE_TREE_CHUNK][node % TH_RANGE_TREE_CHUNK].range;
}

static inline uint32_t
th_range_tree_after(const struct th_range_tree *ranges, uint32_t node)
{
	return ranges->chunks[node / TH_RANGE_TREE_CHUNK][node % TH_RANGE_TREE_CHUNK].right;
}

/* Parts off what was born after `born`: returns it, *list keeps the rest. [in-malloc] */
struct th_range_list th_range_tree_take_younger(
	struct th_range_tree *ranges, struct th_range_list *list, uint64_t born);

/*
 * Enters the ranges of a list where there is nothing, as they now are: the caller may have changed
 * them. `joins` as above.  Needs no node. [in-malloc]
 */
void
th_range_tree_put_back(struct th_range_tree *ranges, struct th_range_list list, bool joins);

/* Gives the nodes of a list back. [in-malloc] */
void th_range_tree_release(struct th_range_tree *ranges, struct th_range_list list);

/*
 * *from was copied from another process, and its nodes to `nodes`, perhaps in the middle of a
 * change: `ranges`, which was initialised, becomes a set of what can be read of that, and keeps its
 * memory. [offline]
 */
void th_range_tree_copy(struct th_range_tree *ranges, const struct th_range_tree *from,
	const struct th_range_node *nodes);

#endif
