/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table changes that were deferred because the holder of the table's lock was not running.  Any
 * thread queues them here without a lock; the next holder of the lock applies them before its
 * own change.
 *
 * They are applied in the order of queueing if one call returned before the next began, which
 * holds for all changes of one block.
 */
#ifndef TH_UNIFY_BASE_DEFERRED_H
#define TH_UNIFY_BASE_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>

/* Few threads wait for one lock at the same time: there are many locks. */
#define TH_DEFERRED_MAX 8

struct th_deferred_item {
	uintptr_t address;
	uint64_t sample; /* sample to insert; 0: the block was freed */
	uint64_t time;
	uint32_t thread;
};

/* All zero initially. */
struct th_deferred {
	uint32_t waiting; /* atomic: number of cells in use */
	uint64_t tickets; /* atomic */
	struct {
		uint32_t state; /* atomic */
		uint64_t ticket;
		struct th_deferred_item item;
	} cells[TH_DEFERRED_MAX];
};

/* False: the queue is full. [in-malloc] */
bool th_deferred_put(struct th_deferred *deferred, const struct th_deferred_item *item);

/* Removes the oldest complete item; false: there is none.  Under the lock. [in-malloc] */
bool th_deferred_take(struct th_deferred *deferred, struct th_deferred_item *ret);

/* Whether the queue holds an item for which `is_meant` is true. [in-malloc] */
bool th_deferred_has(const struct th_deferred *deferred,
	bool (*is_meant)(uintptr_t address, uint32_t key), uint32_t key);

#endif
