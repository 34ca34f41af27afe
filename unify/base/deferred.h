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
#define TH_ASIDE_MAX 8

struct th_aside_item {
	uintptr_t address;
	uint64_t sample; /* to be entered; 0: the block was freed */
	uint64_t time;
	uint32_t thread;
};

/* All zero at first. */
struct th_aside {
	uint32_t waiting; /* atomic: cells that are not free */
	uint64_t tickets; /* atomic */
	struct {
		uint32_t state; /* atomic */
		uint64_t ticket;
		struct th_aside_item item;
	} cells[TH_ASIDE_MAX];
};

/* False: there is no room. [in-malloc] */
bool th_aside_put(struct th_aside *aside, const struct th_aside_item *item);

/* Takes the oldest item out; false: there is none that is complete.  Under the lock. [in-malloc] */
bool th_aside_take(struct th_aside *aside, struct th_aside_item *ret);

/* Whether an item for which `is_meant` is true is there. [in-malloc] */
bool th_aside_has(const struct th_aside *aside,
	bool (*is_meant)(uintptr_t address, uint32_t key), uint32_t key);

#endif
