/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of nodes has three levels: 1 GiB of addresses, 32 KiB of it (a chunk), 8 or 16 bytes.  A
 * chunk has two or four pages of `ids`, which count as used from its first node on.
 */
#include "jvmti/holders/holder_graph.h"

#include "unify/base/align.h"
#include "unify/base/memory.h"

/* User addresses of both processors; generational Z gives uncolored ones. */
#define ADDRESS_BITS 48
#define BLOCK_BITS 30
#define CHUNK_BITS 15
#define TOP (1u << (ADDRESS_BITS - BLOCK_BITS))
#define CHUNKS_PER_BLOCK (1u << (BLOCK_BITS - CHUNK_BITS))
#define BLOCKS_MAX 4096
#define NODES_MAX (TH_HOLDER_ROOT - 1)
/* A reference: its target and how. */
#define REFERENCE_BYTES (sizeof(uint32_t) + sizeof(uint16_t))
/* A node: itself, and its place in the queue. */
#define NODE_BYTES (sizeof(struct th_holder_node) + sizeof(uint32_t))

void *
th_holder_graph_reserve(struct th_holder_graph *graph, uint64_t bytes)
{
	void *start = graph->reservation_count < TH_HOLDER_RESERVATIONS_MAX
			      ? th_memory_reserve(bytes)
			      : NULL;

	if (!start)
		return NULL;
	graph->reservations[graph->reservation_count++] = (struct th_holder_reservation){
		start, bytes};
	return start;
}

bool
th_holder_graph_init(struct th_holder_graph *graph, uint32_t object_bytes, uint64_t bytes_max)
{
	const uint32_t ids_per_chunk = (1u << CHUNK_BITS) / object_bytes;

	*graph = (struct th_holder_graph){.bytes_max = bytes_max,
		.granule_bits = (uint32_t)__builtin_ctz(object_bytes),
		.ids_per_chunk = ids_per_chunk,
		.chunk_bytes = ids_per_chunk * sizeof(uint32_t)};
	graph->chunk_max = (uint32_t)th_min(bytes_max / graph->chunk_bytes + 1, UINT32_MAX / 2);
	graph->node_max = (uint32_t)th_min(bytes_max / NODE_BYTES, NODES_MAX);
	graph->reference_max = (uint32_t)th_min(bytes_max / REFERENCE_BYTES, UINT32_MAX - 1);
	graph->top = th_holder_graph_reserve(graph, TOP * sizeof(*graph->top));
	graph->blocks = th_holder_graph_reserve(
		graph, BLOCKS_MAX * CHUNKS_PER_BLOCK * sizeof(*graph->blocks));
	graph->ids = th_holder_graph_reserve(
		graph, (uint64_t)graph->chunk_max * graph->chunk_bytes);
	graph->nodes = th_holder_graph_reserve(
		graph, (graph->node_max + 1ull) * sizeof(*graph->nodes));
	graph->queue = th_holder_graph_reserve(
		graph, (graph->node_max + 1ull) * sizeof(*graph->queue));
	graph->targets = th_holder_graph_reserve(
		graph, (graph->reference_max + 1ull) * sizeof(*graph->targets));
	graph->hows = th_holder_graph_reserve(
		graph, (graph->reference_max + 1ull) * sizeof(*graph->hows));
	/* No list of references begins at 0. */
	graph->reference_count = 1;
	return graph->reservation_count == 7;
}

void
th_holder_graph_deinit(struct th_holder_graph *graph)
{
	for (uint32_t i = 0; i < graph->reservation_count; i++)
		th_memory_release(graph->reservations[i].start, graph->reservations[i].bytes);
	graph->reservation_count = 0;
}

static bool
charge(struct th_holder_graph *graph, uint64_t bytes)
{
	graph->bytes += bytes;
	if (graph->bytes > graph->bytes_max)
		graph->is_full = true;
	return !graph->is_full;
}

/* Nodes */

static uint32_t
chunk_index(const struct th_holder_graph *graph, uintptr_t address)
{
	return graph->top[address >> BLOCK_BITS] * CHUNKS_PER_BLOCK +
	       (uint32_t)(address >> CHUNK_BITS) % CHUNKS_PER_BLOCK;
}

static uint64_t
id_index(const struct th_holder_graph *graph, uint32_t chunk, uintptr_t address)
{
	return (uint64_t)(chunk - 1) * graph->ids_per_chunk +
	       ((uint32_t)address % (1u << CHUNK_BITS) >> graph->granule_bits);
}

uint32_t
th_holder_graph_find(const struct th_holder_graph *graph, uintptr_t address)
{
	uint32_t chunk;

	if (address >> ADDRESS_BITS)
		return 0;
	chunk = graph->blocks[chunk_index(graph, address)];
	return chunk ? graph->ids[id_index(graph, chunk, address)] : 0;
}

/* The chunk of an address; 0: there is no room. */
static uint32_t
find_chunk(struct th_holder_graph *graph, uintptr_t address)
{
	uint32_t *block = &graph->top[address >> BLOCK_BITS];

	/* Block 0 stays empty. */
	if (!*block && graph->block_count + 1 < BLOCKS_MAX)
		*block = ++graph->block_count;
	if (!*block)
		return 0;
	uint32_t *chunk = &graph->blocks[chunk_index(graph, address)];
	if (!*chunk && graph->chunk_count < graph->chunk_max &&
		charge(graph, graph->chunk_bytes))
		*chunk = ++graph->chunk_count;
	return *chunk;
}

uint32_t
th_holder_graph_node(struct th_holder_graph *graph, uintptr_t address, bool *is_new_ret)
{
	uint32_t chunk = address >> ADDRESS_BITS ? 0 : find_chunk(graph, address);
	uint64_t index = chunk ? id_index(graph, chunk, address) : 0;

	*is_new_ret = false;
	if (chunk && graph->ids[index])
		return graph->ids[index];
	if (!chunk || graph->node_count == graph->node_max || !charge(graph, NODE_BYTES)) {
		graph->is_full = true;
		return 0;
	}
	*is_new_ret = true;
	return graph->ids[index] = ++graph->node_count;
}

/* References */

void
th_holder_graph_end(struct th_holder_graph *graph)
{
	if (graph->current && graph->reference_count < graph->reference_max)
		graph->targets[graph->reference_count++] = 0;
	graph->current = 0;
}

bool
th_holder_graph_add(struct th_holder_graph *graph, uint32_t from, uint32_t to, uint16_t how)
{
	if (from != graph->current) {
		th_holder_graph_end(graph);
		graph->is_broken |= graph->nodes[from].begin != 0;
		graph->nodes[from].begin = graph->reference_count;
		graph->current = from;
		charge(graph, REFERENCE_BYTES);
	}
	/* One place is left for the end of the list. */
	if (graph->reference_count + 1 >= graph->reference_max ||
		!charge(graph, REFERENCE_BYTES)) {
		graph->is_full = true;
		return false;
	}
	graph->targets[graph->reference_count] = to;
	graph->hows[graph->reference_count++] = how;
	return !graph->is_broken;
}

/* Paths */

void
th_holder_graph_seed(struct th_holder_graph *graph, uint32_t node, uint32_t parent)
{
	if (graph->nodes[node].parent)
		return;
	graph->nodes[node].parent = parent;
	graph->queue[graph->queue_tail++] = node;
}

static void
spread_node(struct th_holder_graph *graph, uint32_t node)
{
	uint32_t at = graph->nodes[node].begin;

	for (; at && graph->targets[at]; at++) {
		struct th_holder_node *target = &graph->nodes[graph->targets[at]];

		if (target->parent)
			continue;
		target->parent = node;
		target->how = graph->hows[at];
		graph->queue[graph->queue_tail++] = graph->targets[at];
	}
}

void
th_holder_graph_spread_once(struct th_holder_graph *graph)
{
	uint32_t end = graph->queue_tail;

	while (graph->queue_head < end)
		spread_node(graph, graph->queue[graph->queue_head++]);
}

void
th_holder_graph_spread(struct th_holder_graph *graph)
{
	while (graph->queue_head < graph->queue_tail)
		spread_node(graph, graph->queue[graph->queue_head++]);
}
