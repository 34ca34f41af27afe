/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of references of a Java heap, built during one walk in which no object moves, and the
 * shortest paths in it.
 *
 * An object is identified by its address.  Objects are at least 16 bytes apart, or 8 with compact
 * headers, so a table with one word for each 16 or 8 bytes of the heap gives the node of an address;
 * its parts exist where there are nodes.  Memory is reserved in advance, touched as needed and bounded:
 * about 4 bytes for each 16 or 8 bytes of the 32 KiB of the heap that contain nodes, 20 for each node and
 * 6 for each reference.
 */
#ifndef TH_JVMTI_HOLDERS_HOLDER_GRAPH_H
#define TH_JVMTI_HOLDERS_HOLDER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A parent with this bit is a root: the other bits are its number. */
#define TH_HOLDER_ROOT (1u << 31)

enum th_holder_node_flag { TH_HOLDER_NODE_GLOBAL = 1 };

struct th_holder_node {
	uint32_t class;  /* number given by the caller */
	uint32_t begin;  /* of its references; 0 = it was not visited */
	uint32_t parent; /* node, or root; 0 = not reached */
	uint32_t step;   /* of the caller, after the walk; 0 at first */
	uint16_t how;    /* reference from its parent */
	uint16_t flags;  /* enum th_holder_node_flag */
};

#define TH_HOLDER_RESERVATIONS_MAX 16
struct th_holder_reservation {
	void *start;
	size_t bytes;
};

struct th_holder_graph {
	struct th_holder_reservation reservations[TH_HOLDER_RESERVATIONS_MAX];
	uint32_t reservation_count;
	uint64_t bytes_max;
	uint64_t bytes; /* used */
	uint32_t granule_bits;
	uint32_t ids_per_chunk;
	uint32_t chunk_bytes; /* of `ids` */

	uint32_t *top;    /* by address: number of a block */
	uint32_t *blocks; /* by block and address: number of a chunk of `ids` */
	uint32_t *ids;    /* by chunk and address: number of a node */
	uint32_t block_count;
	uint32_t chunk_count;
	uint32_t chunk_max;

	struct th_holder_node *nodes; /* from 1 */
	uint32_t node_count;
	uint32_t node_max;
	uint32_t *targets; /* references: nodes; a 0 ends those of a node */
	uint16_t *hows;
	uint32_t reference_count;
	uint32_t reference_max;
	uint32_t current; /* the node whose references are being added */

	uint32_t *queue; /* nodes reached */
	uint32_t queue_head;
	uint32_t queue_tail;
	bool is_full;   /* the memory did not suffice */
	bool is_broken; /* the references of a node were not consecutive */
};

/*
 * For objects of at least `object_bytes`, 8 or 16.  Reserves memory, of which at most `bytes_max` will
 * be used; false: there is none. [agent-thread]
 */
bool
th_holder_graph_init(struct th_holder_graph *graph, uint32_t object_bytes, uint64_t bytes_max);

/* Releases all memory; legal after a failed init. [agent-thread] */
void th_holder_graph_deinit(struct th_holder_graph *graph);

/* Zeroed memory that lives as long as the graph, and does not count as used; NULL: there is none. */
void *th_holder_graph_reserve(struct th_holder_graph *graph, uint64_t bytes);

/* The node of an address; 0 = none. [any] */
uint32_t th_holder_graph_find(const struct th_holder_graph *graph, uintptr_t address);

/* The same; creates it.  0: out of memory (is_full). [any] */
uint32_t
th_holder_graph_node(struct th_holder_graph *graph, uintptr_t address, bool *is_new_ret);

/*
 * Adds a reference.  Those of a node must be added one after the other, before and after those of
 * others (else is_broken).  False: do not continue. [any]
 */
bool
th_holder_graph_add(struct th_holder_graph *graph, uint32_t from, uint32_t to, uint16_t how);

/* After the last reference: ends the list of the last node. */
void th_holder_graph_end(struct th_holder_graph *graph);

/* Reaches a node from a root, unless it was reached before; `parent` with TH_HOLDER_ROOT. */
void th_holder_graph_seed(struct th_holder_graph *graph, uint32_t node, uint32_t parent);

/* Follows the references of the nodes in the queue, not of those that this adds to it. */
void th_holder_graph_spread_once(struct th_holder_graph *graph);

/* Follows all references: what is not reached yet gets the shortest path from what is. */
void th_holder_graph_spread(struct th_holder_graph *graph);

#endif
