/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of disjoint address ranges with attributes, in a bounded pool of nodes.  Ranges can be cut
 * at any address, removed in lists and inserted elsewhere.
 *
 * No locks, no recursion, no system calls but for memory.  A search takes O(log n); a change also
 * moves the numbers of the ranges behind it, 4 bytes each: 9 us with 60,000 ranges.
 */
#ifndef TH_UNIFY_MAPPED_RANGE_SET_H
#define TH_UNIFY_MAPPED_RANGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct th_range {
	uintptr_t start;
	uintptr_t end; /* > start */
	/* 0 = none; the caller defines this and the following fields. */
	uint64_t sample;
	uint64_t place;
	uint64_t born;
	uint32_t owner;
	uint32_t flags;
};

struct th_range_node {
	struct th_range range;
	uint32_t next; /* in a list, or of the unused nodes; 0 = none */
};

/* Nodes are allocated in chunks of this many, 56 KiB. */
#define TH_RANGE_SET_CHUNK 1024u
#define TH_RANGE_SET_CHUNKS_MAX 128u

/* Zeroed: empty, without memory, which is mapped when it is needed (unify/base/memory.h). */
struct th_range_set {
	struct th_range_node *chunks[TH_RANGE_SET_CHUNKS_MAX]; /* node 0 is never used */
	uint32_t *order;   /* the nodes of the set, by address */
	uint32_t count;    /* of them */
	uint32_t room;     /* for so many */
	uint32_t capacity; /* maximum number of nodes */
	uint32_t touched;  /* nodes ever used, including node 0 */
	uint32_t unused;   /* free list */
	uint64_t lost;     /* pieces lost because no node was left for them */
};

/* Removed ranges in ascending order; they keep their nodes. */
struct th_range_list {
	uint32_t first;
	uint32_t last;
};

/*
 * An empty set of at most `capacity` nodes, including the unused node 0, up to
 * TH_RANGE_SET_CHUNK * TH_RANGE_SET_CHUNKS_MAX. [any]
 */
void th_range_set_init(struct th_range_set *ranges, uint32_t capacity);

/* Gives the memory back. [any] */
void th_range_set_deinit(struct th_range_set *ranges);

/* The first range that ends after `address`; NULL: there is none. [in-malloc] */
const struct th_range *th_range_set_find(const struct th_range_set *ranges, uintptr_t address);

/*
 * Inserts a range into a gap.  With `joins`, extends a neighbour instead if they differ only in
 * bounds and `born`.  False: no node is left. [in-malloc]
 */
bool th_range_set_put(struct th_range_set *ranges, const struct th_range *range, bool joins);

/*
 * Removes those ranges in [start, end) for which `is_wanted` holds.  One that extends beyond is cut; if
 * no node is left for the part after `end`, that part is lost and counted. [in-malloc]
 */
typedef bool th_range_predicate(const struct th_range *range, uint64_t value);
struct th_range_list th_range_set_cut(struct th_range_set *ranges, uintptr_t start,
	uintptr_t end, th_range_predicate *is_wanted, uint64_t value);

/*
 * Sets the sample of all ranges in [start, end) with this `born`; returns their bytes.
 * [in-malloc]
 */
uint64_t th_range_set_set_sample(struct th_range_set *ranges, uintptr_t start, uintptr_t end,
	uint64_t born, uint64_t sample);

/*
 * The ranges of a list: for (i = list.first; i; i = th_range_set_after(ranges, i)).  Owned by
 * the caller until the list is released: needs no lock. [in-malloc]
 */
static inline struct th_range_node *
th_range_set_node(const struct th_range_set *ranges, uint32_t node)
{
	return &ranges->chunks[node / TH_RANGE_SET_CHUNK][node % TH_RANGE_SET_CHUNK];
}

static inline struct th_range *
th_range_set_at(const struct th_range_set *ranges, uint32_t node)
{
	return &th_range_set_node(ranges, node)->range;
}

static inline uint32_t
th_range_set_after(const struct th_range_set *ranges, uint32_t node)
{
	return th_range_set_node(ranges, node)->next;
}

/* Releases the nodes of a list. [in-malloc] */
void th_range_set_release(struct th_range_set *ranges, struct th_range_list list);

/*
 * The set becomes a copy of that at `from` in the observed process (unify/base/observed.h), which may be
 * changing: of what is not in order there, some is left out.  False: it cannot be read. [offline]
 */
bool th_range_set_observe(struct th_range_set *ranges, const struct th_range_set *from);

#endif
