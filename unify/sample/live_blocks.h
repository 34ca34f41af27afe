/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled native blocks that are alive: an exact table from address to sample, and in front
 * of it a bitmap that lets free() pass blocks that were not sampled after one test.
 *
 * Both are indexed by one hash of the address: the top TH_LIVE_BLOCKS_FILTER_BITS bits are the bit, the
 * top bits of those the shard, so all blocks that share a bit share a shard and its lock.
 */
#ifndef TH_UNIFY_SAMPLE_LIVE_BLOCKS_H
#define TH_UNIFY_SAMPLE_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/base/observed.h"

/* 2^20 bits = 128 KiB: stays in the second-level cache, 1 % false alarms at 10,000 blocks. */
#define TH_LIVE_BLOCKS_FILTER_BITS 20

extern uint32_t th_live_blocks_filter[1u << (TH_LIVE_BLOCKS_FILTER_BITS - 5)]
	__attribute__((visibility("hidden")));

/* Fibonacci hashing: the golden ratio times 2^64, odd. */
static inline uint64_t
th_live_blocks_hash(uintptr_t address)
{
	return (uint64_t)address * 0x9e3779b97f4a7c15u;
}

/* False: the block was certainly not sampled.  No lock, one read. [in-malloc] */
static inline bool
th_live_blocks_may_hold(const void *block)
{
	uint32_t bit = th_live_blocks_hash((uintptr_t)block) >>
		       (64 - TH_LIVE_BLOCKS_FILTER_BITS);

	return __atomic_load_n(&th_live_blocks_filter[bit / 32], __ATOMIC_RELAXED) >> bit % 32 &
	       1;
}

/*
 * Enters a block.  An entry already there under the address (its free was missed) is replaced.
 * False when the shard is full or cannot be mapped; the block is then not tracked.  The guard must
 * be held.
 *
 * If the holder of the shard's lock is not running, this and th_live_blocks_remove() put their change
 * aside, for the next holder of the lock. [in-malloc]
 */
bool th_live_blocks_insert(uintptr_t address, uint64_t sample);

/*
 * Takes a block out, before it is really freed: afterwards another thread may get the same
 * address.  Returns its sample; 0 if it was not there, or that was put aside.  What cannot even be
 * put aside is counted as LIVE_FREES_LOST.  The guard must be held. [in-malloc]
 */
uint64_t th_live_blocks_remove(uintptr_t address);

/*
 * Called when the removal of a block that was put aside is made: it was freed at `time`, by
 * `thread`.  It may run in any call of this table. [in-malloc]
 */
typedef void th_live_blocks_freed(uint64_t sample, uint64_t time, uint32_t thread);
void th_live_blocks_on_late_free(th_live_blocks_freed *freed);

/* Makes all changes put aside; those that still cannot be made are counted.  At the end. [any] */
void th_live_blocks_settle(void);

/*
 * Calls `visit` with every block in the table.  Blocks come and go meanwhile: those that were
 * there all the time are visited. [agent-thread]
 */
typedef void th_live_blocks_visit(uintptr_t address, uint64_t sample, void *data);
void th_live_blocks_each(th_live_blocks_visit *visit, void *data);

/*
 * Makes free() take the slow path for `address` for ever; at most TH_LIVE_BLOCKS_PINS_MAX. Not
 * concurrently with anything.
 */
#define TH_LIVE_BLOCKS_PINS_MAX 64
void th_live_blocks_pin(uintptr_t address);

/* In a forked child: forgets everything but the pins. */
void th_live_blocks_reset(void);

/* In the tool: the table becomes a copy of the observed process's. */
struct th_observed_part th_live_blocks_part(void);
bool th_live_blocks_observe(const void *part);
/* For tests: holds the lock of a block's shard as a thread that does not run, or lets it go. */
void th_live_blocks_hold(uintptr_t address, bool is_held);

/* For tests: turns to wait for a lock; 0: as usual. */
void th_live_blocks_wait(unsigned turns);

#endif
