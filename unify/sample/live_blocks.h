/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled native blocks that are alive: an exact table from address to sample, and in front
 * of it a bitmap with which free() skips blocks that were not sampled after one test.  The ledger's
 * takes are here, too, by keys that are no addresses (jvmti/ledger/takes.h).
 *
 * Neighbouring blocks have neighbouring bits, as most blocks are freed near the one before: 13 KiB
 * of a heap are a cache line.  Shard and slot follow from the bit, so all blocks that share a bit
 * share a shard and its lock.
 */
#ifndef TH_UNIFY_SAMPLE_LIVE_BLOCKS_H
#define TH_UNIFY_SAMPLE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/observed.h"

/*
 * 2^20 bits = 128 KiB: fits into the second-level cache, 1 % false positives at 10,000 blocks.
 */
#define TH_LIVE_BLOCKS_FILTER_BITS 20

extern uint32_t th_live_blocks_filter[1u << (TH_LIVE_BLOCKS_FILTER_BITS - 5)]
	__attribute__((visibility("hidden")));

/*
 * The golden ratio times 2^40, odd: addresses 32 bytes apart have different bits, 26 MiB on they
 * begin anew, and aligned blocks are spread over all bits (Fibonacci hashing).
 */
static inline uint64_t
th_live_blocks_hash(uintptr_t address)
{
	return (uint64_t)address * 0x9e3779b97fu;
}

static inline uint32_t
th_live_blocks_bit(uintptr_t address)
{
	return (uint32_t)(th_live_blocks_hash(address) >> (64 - TH_LIVE_BLOCKS_FILTER_BITS));
}

/* False: the block was certainly not sampled.  No lock, one read. [in-malloc] */
static inline bool
th_live_blocks_may_hold(const void *block)
{
	uint32_t bit = th_live_blocks_bit((uintptr_t)block);

	return __atomic_load_n(&th_live_blocks_filter[bit / 32], __ATOMIC_RELAXED) >> bit % 32 &
	       1;
}

/*
 * Inserts a block.  An existing entry for the address (its free was missed) is replaced.  False
 * if the shard is full, cannot be mapped, or the holder of its lock is not running; the block is
 * then not tracked.  The guard must be held. [in-malloc]
 */
bool th_live_blocks_insert(uintptr_t address, uint64_t sample);

/*
 * Removes a block, before it is actually freed: afterwards another thread may get the same
 * address.  Returns its sample; 0 if there was none.  If the holder of the shard's lock is not
 * running, the entry stays without its sample until the address is used again; a block that is not
 * found then is counted as LIVE_FREES_LOST.  The guard must be held. [in-malloc]
 */
uint64_t th_live_blocks_remove(uintptr_t address);

/*
 * Calls `visit` for every block and key in the table.  Those that are in the table during the whole
 * call are visited, others may be. [agent-thread]
 */
typedef void th_live_blocks_visit(uintptr_t address, uint64_t sample, void *data);
void th_live_blocks_each(th_live_blocks_visit *visit, void *data);

/* Bits from here on are 0 in addresses, also in those with a tag of memory (aarch64), and not in keys. */
#define TH_LIVE_BLOCKS_KEY_SHIFT 60

/* Blocks and keys that the table has room for, at most. */
#define TH_LIVE_BLOCKS_MAX 229376u

/* The number of blocks in the table, about, without the ledger's keys. [any] */
uint64_t th_live_blocks_count(void);

/*
 * Makes free() take the slow path for `address` forever; at most TH_LIVE_BLOCKS_PINS_MAX.  Not
 * concurrently with anything.
 */
#define TH_LIVE_BLOCKS_PINS_MAX 64
void th_live_blocks_pin(uintptr_t address);

/* Removes everything but the pins, while other threads may free blocks.  The guard must be held. */
void th_live_blocks_clear(void);

/* In a forked child: removes everything but the pins. */
void th_live_blocks_reset(void);

extern const struct th_observed_tables th_live_blocks_tables;

/*
 * For tests: holds the lock of a block's shard like a thread that is not running, or releases
 * it.
 */
void th_live_blocks_hold(uintptr_t address, bool is_held);

/* For tests: how long to wait for a lock (ns); 0: the default. */
void th_live_blocks_wait(uint64_t ns);

#endif
