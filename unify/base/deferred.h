/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a table that could not be made, because the thread that held its lock did not run.
 * Any thread queues them here, without a lock; the next holder of the lock makes them before its
 * own.
 *
 * They come out in the order in which they were put aside, as far as one was done before the next
 * began: that is so for all changes of one block.
 */
#ifndef TH_UNIFY_BASE_DEFERRED_H
#define TH_UNIFY_BASE_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>

/* Threads that wait for one lock at the same time are few: there are many locks. */
#define TH_DEFERRED_MAX 8

struct th_deferred_item {
	uintptr_t address;
	uint64_t sample; /* to be entered; 0: the block was freed */
	uint64_t time;
	uint32_t thread;
};

/* All zero at first. */
struct th_deferred {
	uint32_t waiting; /* atomic: cells that are not free */
	uint64_t tickets; /* atomic */
	struct {
		uint32_t state; /* atomic */
		uint64_t ticket;
		struct th_deferred_item item;
	} cells[TH_DEFERRED_MAX];
};

/* False: there is no room. [in-malloc] */
bool th_deferred_put(struct th_deferred *aside, const struct th_deferred_item *item);

/* Takes the oldest item out; false: there is none that is complete.  Under the lock. [in-malloc] */
bool th_deferred_take(struct th_deferred *aside, struct th_deferred_item *ret);

/* Whether an item for which `is_meant` is true is there. [in-malloc] */
bool th_deferred_has(const struct th_deferred *aside,
	bool (*is_meant)(uintptr_t address, uint32_t key), uint32_t key);

#endif
