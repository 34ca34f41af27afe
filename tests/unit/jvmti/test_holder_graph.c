/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of references: nodes by address, shortest paths against a naive search, bounded memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jvmti/holders/holder_graph.h"
#include "unify/sample/poisson.h"

#define MEMORY (64 << 20)
#define NODES 500
#define REFERENCES 3
#define UNREACHED UINT32_MAX

/* Addresses of objects of 24 bytes in two heaps far apart, as a collector may have. */
static uintptr_t
address(uint32_t number)
{
	return (number % 2 ? 0x7f0012345678 : 0x600000000) + number * UINT64_C(24);
}

static uint32_t
node(struct th_holder_graph *graph, uint32_t number)
{
	bool is_new;

	return th_holder_graph_node(graph, address(number), &is_new);
}

static void
test_nodes(void **state)
{
	struct th_holder_graph graph;
	bool is_new;

	(void)state;
	assert_true(th_holder_graph_init(&graph, 16, MEMORY));
	assert_int_equal(th_holder_graph_find(&graph, address(1)), 0);
	uint32_t first = th_holder_graph_node(&graph, address(1), &is_new);
	assert_true(first && is_new);
	assert_int_equal(th_holder_graph_node(&graph, address(1), &is_new), first);
	assert_false(is_new);
	/* The smallest objects are 16 bytes apart, at multiples of 8. */
	assert_int_not_equal(th_holder_graph_node(&graph, address(1) + 16, &is_new), first);
	assert_int_equal(th_holder_graph_find(&graph, address(1)), first);
	/* No address of a user. */
	assert_int_equal(th_holder_graph_find(&graph, UINTPTR_MAX - 7), 0);
	assert_int_equal(th_holder_graph_node(&graph, UINTPTR_MAX - 7, &is_new), 0);
	th_holder_graph_deinit(&graph);
}

/* As above, with compact headers. */
static void
test_small_objects(void **state)
{
	const uint32_t bytes = 8;
	struct th_holder_graph graph;
	bool is_new;

	(void)state;
	assert_true(th_holder_graph_init(&graph, bytes, MEMORY));
	/* Across the end of a chunk of the table. */
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(
			th_holder_graph_node(&graph, 0x6001fff00 + i * bytes, &is_new), i + 1);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(th_holder_graph_find(&graph, 0x6001fff00 + i * bytes), i + 1);
	th_holder_graph_deinit(&graph);
}

struct random_graph {
	uint32_t targets[NODES][REFERENCES];
	uint32_t depth[NODES];
};

/* The textbook way: relaxes all references until nothing changes. */
static void
find_depths(struct random_graph *graph)
{
	for (bool is_changed = true; is_changed;) {
		is_changed = false;
		for (uint32_t i = 0; i < NODES; i++)
			for (int k = 0; k < REFERENCES && graph->depth[i] != UNREACHED; k++) {
				uint32_t *depth = &graph->depth[graph->targets[i][k]];

				if (*depth > graph->depth[i] + 1) {
					*depth = graph->depth[i] + 1;
					is_changed = true;
				}
			}
	}
}

static uint32_t
depth_of(const struct th_holder_graph *graph, uint32_t at)
{
	uint32_t depth = 0;

	if (!graph->nodes[at].parent)
		return UNREACHED;
	for (; !(graph->nodes[at].parent & TH_HOLDER_ROOT); at = graph->nodes[at].parent)
		depth++;
	return depth;
}

/* Half of the nodes refer only to themselves, so that some are not reached. */
static void
make_random(struct random_graph *random, struct th_holder_graph *graph, uint64_t seed)
{
	struct th_random numbers;

	th_random_seed(&numbers, seed);
	memset(random->depth, 0xff, sizeof(random->depth));
	for (uint32_t i = 0; i < NODES; i++)
		node(graph, i);
	for (uint32_t i = 0; i < NODES; i++)
		for (int k = 0; k < REFERENCES; k++) {
			uint32_t target = (uint32_t)(th_random_next(&numbers) % NODES);

			random->targets[i][k] = i % 2 ? i : target;
			assert_true(th_holder_graph_add(graph, node(graph, i),
				node(graph, random->targets[i][k]), (uint16_t)k));
		}
	th_holder_graph_end(graph);
}

static void
test_shortest_paths(void **state)
{
	static struct random_graph random;
	struct th_holder_graph graph;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		assert_true(th_holder_graph_init(&graph, 16, MEMORY));
		make_random(&random, &graph, seed);
		random.depth[0] = random.depth[2] = 0;
		find_depths(&random);
		th_holder_graph_seed(&graph, node(&graph, 0), TH_HOLDER_ROOT);
		th_holder_graph_seed(&graph, node(&graph, 2), TH_HOLDER_ROOT | 1);
		th_holder_graph_spread(&graph);
		for (uint32_t i = 0; i < NODES; i++)
			assert_int_equal(depth_of(&graph, node(&graph, i)), random.depth[i]);
		th_holder_graph_deinit(&graph);
	}
}

/* What one set of roots reaches is not taken over by a later one, even if that is nearer. */
static void
test_earlier_roots_come_first(void **state)
{
	struct th_holder_graph graph;

	(void)state;
	assert_true(th_holder_graph_init(&graph, 16, MEMORY));
	for (uint32_t i = 0; i < 4; i++)
		node(&graph, i);
	th_holder_graph_add(&graph, node(&graph, 0), node(&graph, 1), 7);
	th_holder_graph_add(&graph, node(&graph, 1), node(&graph, 2), 8);
	th_holder_graph_add(&graph, node(&graph, 3), node(&graph, 2), 9);
	th_holder_graph_end(&graph);
	th_holder_graph_seed(&graph, node(&graph, 0), TH_HOLDER_ROOT);
	th_holder_graph_spread(&graph);
	th_holder_graph_seed(&graph, node(&graph, 3), TH_HOLDER_ROOT | 1);
	th_holder_graph_spread(&graph);
	assert_int_equal(graph.nodes[node(&graph, 2)].parent, node(&graph, 1));
	assert_int_equal(graph.nodes[node(&graph, 2)].how, 8);
	assert_int_equal(graph.nodes[node(&graph, 3)].parent, TH_HOLDER_ROOT | 1);
	th_holder_graph_deinit(&graph);
}

static void
test_memory_is_bounded(void **state)
{
	const uint64_t bytes_max = 1 << 20;
	struct th_holder_graph graph;
	uint32_t count = 0;

	(void)state;
	assert_true(th_holder_graph_init(&graph, 16, bytes_max));
	while (node(&graph, count) &&
		th_holder_graph_add(&graph, node(&graph, count), node(&graph, count), 0))
		count++;
	assert_true(graph.is_full);
	/* 24 bytes and a place in the queue, two references and 8 of 16 bytes of the heap. */
	assert_in_range(count, bytes_max / 60, bytes_max / 36);
	assert_in_range(graph.bytes, bytes_max, bytes_max + 8192);
	th_holder_graph_deinit(&graph);
}

/* The VM must report the references of an object in sequence. */
static void
test_scattered_references_are_noticed(void **state)
{
	struct th_holder_graph graph;

	(void)state;
	assert_true(th_holder_graph_init(&graph, 16, MEMORY));
	assert_true(th_holder_graph_add(&graph, node(&graph, 0), node(&graph, 1), 0));
	assert_true(th_holder_graph_add(&graph, node(&graph, 1), node(&graph, 0), 0));
	assert_false(th_holder_graph_add(&graph, node(&graph, 0), node(&graph, 1), 0));
	assert_true(graph.is_broken);
	th_holder_graph_deinit(&graph);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_small_objects),
		cmocka_unit_test(test_shortest_paths),
		cmocka_unit_test(test_earlier_roots_come_first),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_scattered_references_are_noticed),
	};

	return cmocka_run_group_tests_name("holder graph", tests, NULL, NULL);
}
