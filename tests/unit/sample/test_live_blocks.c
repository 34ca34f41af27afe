/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks against a trivially correct model, on one thread and on several, up
 * to full shards.
 */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unify/base/memory.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/poisson.h"

/* As in live_blocks.c: 256 shards, each full at 7/8 of 1,024 entries. */
#define SHARD_BITS 8
#define SHARDS (1u << SHARD_BITS)
#define SHARD_FULL 896
/* Inverses of the multipliers of the filter's bit modulo 2^64, and of the shard and slot. */
#define INVERSE 0x4623b64c19bc067fu
#define HOME 0x9e3779b9u
#define HOME_INVERSE 0xcbc89u

/* Helpers */

static int
start_empty(void **state)
{
	(void)state;
	th_live_blocks_reset();
	return 0;
}

static bool
may_hold(uintptr_t address)
{
	return th_live_blocks_may_hold((const void *)address);
}

static size_t
filter_bits_set(void)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(th_live_blocks_filter) / sizeof(th_live_blocks_filter[0]);
		i++)
		count += (size_t)__builtin_popcount(th_live_blocks_filter[i]);
	return count;
}

/* The address whose shard is in the top bits, and its home slot in those below. */
static uintptr_t
address_of_hash(uint64_t hash)
{
	uint64_t bit = (hash >> 44) * HOME_INVERSE;

	return (uintptr_t)((bit << 44 | (hash & ((UINT64_C(1) << 44) - 1))) * INVERSE);
}

/* One thread */

static void
test_inverse(void **state)
{
	(void)state;
	for (uint64_t hash = 1; hash; hash <<= 1) {
		uint64_t found = th_live_blocks_hash(address_of_hash(hash));

		found = (found >> 44) * HOME << 44 | (found & ((UINT64_C(1) << 44) - 1));
		assert_int_equal(found, hash);
	}
}

static void
test_insert_and_remove(void **state)
{
	(void)state;
	assert_false(may_hold(4096));
	assert_true(th_live_blocks_insert(4096, 7));
	assert_true(may_hold(4096));
	assert_int_equal(th_live_blocks_remove(4096), 7);
	assert_false(may_hold(4096));
	assert_int_equal(th_live_blocks_remove(4096), 0);
}

/* Its free was missed: the later block is valid. */
static void
test_insert_replaces(void **state)
{
	(void)state;
	assert_true(th_live_blocks_insert(4096, 7));
	assert_true(th_live_blocks_insert(4096, 8));
	assert_int_equal(th_live_blocks_remove(4096), 8);
	assert_int_equal(th_live_blocks_remove(4096), 0);
	assert_int_equal(filter_bits_set(), 0);
}

/* Some thousand blocks use one page of each shard, whichever slots they hash to. */
static void
test_few_blocks_touch_few_pages(void **state)
{
	const uint64_t blocks = 4000;
	uint64_t before = th_memory_resident();

	(void)state;
	for (uint64_t i = 0; i < blocks; i++)
		assert_true(th_live_blocks_insert(4096 + 1040 * i, i + 1));
	assert_in_range(th_memory_resident() - before, SHARDS * 4096, SHARDS * 4096 * 3 / 2);
	for (uint64_t i = 0; i < blocks; i++)
		assert_int_equal(th_live_blocks_remove(4096 + 1040 * i), i + 1);
	assert_int_equal(filter_bits_set(), 0);
}

#define MODEL_ADDRESSES 65536
#define MODEL_OPERATIONS 1000000

struct model {
	uintptr_t addresses[MODEL_ADDRESSES];
	uint64_t samples[MODEL_ADDRESSES]; /* 0 = not in the table */
	size_t count;
};

/*
 * Typical addresses of allocators, 16 bytes apart in clusters, and one in four with a hash from
 * a narrow range, so that bits, home slots and clusters are shared.
 */
static void
init_model(struct model *model, struct th_random *random)
{
	memset(model, 0, sizeof(*model));
	for (size_t i = 0; i < MODEL_ADDRESSES; i++) {
		uint64_t bits = th_random_next(random);

		model->addresses[i] = i % 4 ? 0x7f0000000000u + 16 * i
					    : address_of_hash(((i / 4) % 64) << 58 |
							      (bits & 0x3ff) << 44 | i);
	}
}

static void
check_operation(struct model *model, size_t i, uint64_t bits)
{
	uintptr_t address = model->addresses[i];
	uint64_t sample = (bits >> 32) + 1;

	if (model->samples[i] && !may_hold(address))
		fail_msg("the filter denies a block that is there");
	if (bits & 1) {
		if (!th_live_blocks_insert(address, sample))
			fail_msg("refused at %zu entries", model->count);
		model->count += !model->samples[i];
		model->samples[i] = sample;
	} else {
		assert_int_equal(th_live_blocks_remove(address), model->samples[i]);
		model->count -= model->samples[i] != 0;
		model->samples[i] = 0;
	}
}

/* The table has exactly the blocks of the model, and in the end no bit is left over. */
static void
test_random_operations(void **state)
{
	static struct model model;
	struct th_random random;

	(void)state;
	th_random_seed(&random, 20260101);
	init_model(&model, &random);
	for (unsigned i = 0; i < MODEL_OPERATIONS; i++) {
		uint64_t bits = th_random_next(&random);

		check_operation(&model, bits >> 8 & (MODEL_ADDRESSES - 1), bits);
	}
	assert_in_range(model.count, MODEL_ADDRESSES / 4, MODEL_ADDRESSES * 3 / 4);
	for (size_t i = 0; i < MODEL_ADDRESSES; i++) {
		if (model.samples[i])
			assert_true(may_hold(model.addresses[i]));
		assert_int_equal(th_live_blocks_remove(model.addresses[i]), model.samples[i]);
	}
	assert_int_equal(filter_bits_set(), 0);
}

/*
 * The purpose of the filter: at 10,000 blocks one foreign pointer in a hundred takes the slow
 * path.
 */
static void
test_filter_passes_nearly_everything(void **state)
{
	const size_t probes = 1000000;
	size_t alarms = 0;

	(void)state;
	for (uintptr_t i = 0; i < 10000; i++)
		assert_true(th_live_blocks_insert(0x7f0000000000u + 48 * i, i + 1));
	for (uintptr_t i = 0; i < probes; i++)
		alarms += may_hold(0x550000000000u + 32 * i);
	/* 10,000 of 2^20 bits are 0.95 %. */
	assert_in_range(alarms, 1, probes * 15 / 1000);
}

/* Full */

/* Entry `i` of shard `shard`: one home slot in 16 for all, which makes the longest clusters. */
static uintptr_t
crowded(uint64_t shard, uint64_t i)
{
	return address_of_hash(shard << 56 | (i % 16) << 46 | (i + 1));
}

static void
test_shard_full(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < SHARD_FULL; i++)
		assert_true(th_live_blocks_insert(crowded(3, i), i + 1));
	assert_false(th_live_blocks_insert(crowded(3, SHARD_FULL), 1));
	/* Existing entries can still be replaced, other shards are not affected. */
	assert_true(th_live_blocks_insert(crowded(3, 5), 1000));
	assert_true(th_live_blocks_insert(crowded(4, 0), 1));
	/* Space for one again. */
	assert_int_equal(th_live_blocks_remove(crowded(3, 5)), 1000);
	assert_true(th_live_blocks_insert(crowded(3, SHARD_FULL), 2000));
	assert_int_equal(th_live_blocks_remove(crowded(3, SHARD_FULL)), 2000);
	for (uint64_t i = 0; i < SHARD_FULL; i++)
		assert_int_equal(th_live_blocks_remove(crowded(3, i)), i == 5 ? 0 : i + 1);
	assert_int_equal(th_live_blocks_remove(crowded(4, 0)), 1);
	assert_int_equal(filter_bits_set(), 0);
}

/* Clusters that wrap around the end of a shard, emptied in every order. */
static void
test_clusters_wrap(void **state)
{
	enum { ENTRIES = 24 };
	/* Coprime to 24, so that each order includes every entry. */
	static const unsigned strides[] = {1, 5, 7, 11, 13, 17, 19, 23};

	(void)state;
	for (size_t k = 0; k < sizeof(strides) / sizeof(strides[0]); k++) {
		for (uint64_t i = 0; i < ENTRIES; i++)
			assert_true(th_live_blocks_insert(
				address_of_hash(
					(uint64_t)9 << 56 | (1016 + i % 8) << 46 | (i + 1)),
				i + 1));
		for (uint64_t n = 0; n < ENTRIES; n++) {
			uint64_t i = n * strides[k] % ENTRIES;

			assert_int_equal(
				th_live_blocks_remove(address_of_hash(
					(uint64_t)9 << 56 | (1016 + i % 8) << 46 | (i + 1))),
				i + 1);
		}
		assert_int_equal(filter_bits_set(), 0);
	}
}

/* Pins and reset */

/* A pin keeps its bit regardless of other blocks, and survives a fork. */
static void
test_pins(void **state)
{
	const uintptr_t pinned = address_of_hash((uint64_t)200 << 56 | 1);
	const uintptr_t same_bit = address_of_hash((uint64_t)200 << 56 | 2);

	(void)state;
	th_live_blocks_pin(pinned);
	assert_true(may_hold(pinned));
	assert_int_equal(th_live_blocks_remove(pinned), 0);
	assert_true(th_live_blocks_insert(same_bit, 5));
	assert_int_equal(th_live_blocks_remove(same_bit), 5);
	assert_true(may_hold(pinned));
	th_live_blocks_reset();
	assert_true(may_hold(pinned));
	assert_int_equal(filter_bits_set(), 1);
}

/* Pins beyond the maximum are ignored.  After all other tests. */
static void
test_too_many_pins(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 2 * TH_LIVE_BLOCKS_PINS_MAX; i++)
		th_live_blocks_pin(address_of_hash((uint64_t)100 << 56 | i << 44 | 1));
	assert_int_equal(filter_bits_set(), TH_LIVE_BLOCKS_PINS_MAX);
}

static void
test_reset_forgets(void **state)
{
	(void)state;
	for (uintptr_t i = 1; i < 5000; i++)
		assert_true(th_live_blocks_insert(16 * i, i));
	th_live_blocks_reset();
	assert_int_equal(filter_bits_set(), 0);
	/* Old blocks are not found, new ones are. */
	for (uintptr_t i = 1; i < 5000; i++)
		assert_int_equal(th_live_blocks_remove(16 * i), 0);
	assert_true(th_live_blocks_insert(16, 3));
	assert_int_equal(th_live_blocks_remove(16), 3);
}

/* Several threads */

#define THREADS 4
#define THREAD_ADDRESSES 4096
#define THREAD_OPERATIONS 200000

struct worker {
	pthread_t thread;
	uint64_t number;
	uint64_t samples[THREAD_ADDRESSES];
	unsigned wrong;
};

/* Neighbours: the threads share bits, home slots and shards, but no address. */
static uintptr_t
address_of_worker(const struct worker *worker, size_t i)
{
	return address_of_hash(
		(uint64_t)(i % SHARDS) << 56 | (i / SHARDS) << 46 | (worker->number + 1));
}

static void *
work(void *argument)
{
	struct worker *worker = argument;
	struct th_random random;

	th_random_seed(&random, worker->number);
	for (unsigned n = 0; n < THREAD_OPERATIONS; n++) {
		uint64_t bits = th_random_next(&random);
		size_t i = bits >> 8 & (THREAD_ADDRESSES - 1);
		uintptr_t address = address_of_worker(worker, i);

		worker->wrong += worker->samples[i] && !may_hold(address);
		if (bits & 1) {
			worker->samples[i] = (bits >> 32) + 1;
			worker->wrong += !th_live_blocks_insert(address, worker->samples[i]);
		} else {
			worker->wrong += th_live_blocks_remove(address) != worker->samples[i];
			worker->samples[i] = 0;
		}
	}
	return NULL;
}

/*
 * Each thread finds its own blocks, despite concurrent changes.  All wait for the lock here: on a
 * busy machine the other threads may be preempted for long.
 */
static void
test_concurrent_threads(void **state)
{
	static struct worker workers[THREADS];

	(void)state;
	th_live_blocks_wait(UINT_MAX);
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(workers[i].wrong, 0);
		for (size_t k = 0; k < THREAD_ADDRESSES; k++)
			assert_int_equal(
				th_live_blocks_remove(address_of_worker(&workers[i], k)),
				workers[i].samples[k]);
	}
	assert_int_equal(filter_bits_set(), 0);
	th_live_blocks_wait(0);
}

/* A lock whose holder is not running */

static int
start_held(void **state)
{
	th_live_blocks_wait(1);
	return start_empty(state);
}

static int
end_held(void **state)
{
	(void)state;
	th_live_blocks_wait(0);
	return 0;
}

/* The n-th address of one shard. */
static uintptr_t
of_one_shard(uint64_t n)
{
	return address_of_hash(UINT64_C(5) << 56 | n << 44 | 1);
}

static void
count_block(uintptr_t address, uint64_t sample, void *data)
{
	(void)address;
	(void)sample;
	++*(unsigned *)data;
}

/* It is not found a second time; later another block may have the address. */
static void
test_free_without_the_lock(void **state)
{
	uintptr_t address = of_one_shard(0);
	unsigned count = 0;

	(void)state;
	assert_true(th_live_blocks_insert(address, 7));
	assert_true(th_live_blocks_insert(of_one_shard(1), 9));
	th_live_blocks_hold(address, true);
	assert_int_equal(th_live_blocks_remove(address), 7);
	assert_int_equal(th_live_blocks_remove(address), 0);
	th_live_blocks_hold(address, false);
	th_live_blocks_each(count_block, &count);
	assert_int_equal(count, 1);
	assert_true(th_live_blocks_insert(address, 8));
	assert_int_equal(th_live_blocks_remove(address), 8);
	assert_int_equal(th_live_blocks_remove(of_one_shard(1)), 9);
	assert_int_equal(filter_bits_set(), 0);
}

/* Neither is a block that is freed again without having been sampled; its bit is cleared then. */
static void
test_entry_without_sample_goes(void **state)
{
	uintptr_t address = of_one_shard(0);

	(void)state;
	assert_true(th_live_blocks_insert(address, 7));
	th_live_blocks_hold(address, true);
	assert_int_equal(th_live_blocks_remove(address), 7);
	th_live_blocks_hold(address, false);
	assert_int_equal(th_live_blocks_remove(address), 0);
	assert_int_equal(th_live_blocks_count(), 0);
	assert_int_equal(filter_bits_set(), 0);
}

static void
test_no_insert_without_the_lock(void **state)
{
	uintptr_t address = of_one_shard(0);

	(void)state;
	assert_true(th_live_blocks_insert(of_one_shard(1), 9));
	th_live_blocks_hold(address, true);
	assert_false(th_live_blocks_insert(address, 7));
	th_live_blocks_hold(address, false);
	assert_false(may_hold(address));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_inverse, start_empty),
		cmocka_unit_test_setup(test_insert_and_remove, start_empty),
		cmocka_unit_test_setup(test_insert_replaces, start_empty),
		cmocka_unit_test_setup(test_few_blocks_touch_few_pages, start_empty),
		cmocka_unit_test_setup(test_random_operations, start_empty),
		cmocka_unit_test_setup(test_filter_passes_nearly_everything, start_empty),
		cmocka_unit_test_setup(test_shard_full, start_empty),
		cmocka_unit_test_setup(test_clusters_wrap, start_empty),
		cmocka_unit_test_setup(test_reset_forgets, start_empty),
		cmocka_unit_test_setup(test_concurrent_threads, start_empty),
		cmocka_unit_test_setup_teardown(
			test_free_without_the_lock, start_held, end_held),
		cmocka_unit_test_setup_teardown(
			test_entry_without_sample_goes, start_held, end_held),
		cmocka_unit_test_setup_teardown(
			test_no_insert_without_the_lock, start_held, end_held),
		cmocka_unit_test_setup(test_pins, start_empty),
		cmocka_unit_test_setup(test_too_many_pins, start_empty),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
