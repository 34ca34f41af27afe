/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all entry points. */
#ifndef TH_PRELOAD_ENTRY_H
#define TH_PRELOAD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/next.h"
#include "unify/sample/live_blocks.h"
#include "unify/sample/native.h"
#include "unify/sample/thread.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/*
 * Decrements the calling thread's countdown by a block; true: the block is to be sampled.
 * [in-malloc]
 */
static inline bool
th_entry_is_due(size_t size)
{
	return UNLIKELY(th_countdown_take(&th_thread.countdown, size));
}

/*
 * The same for a block that is already allocated, or NULL if the allocator failed.  For
 * functions that may fail without returning, such as by an exception. [in-malloc]
 */
static inline void *
th_entry_take(void *block, size_t size, enum th_alloc_function function)
{
	if (block && th_entry_is_due(size))
		th_native_allocated(block, size, function);
	return block;
}

/*
 * The same where frees may go past us: ends an older block of this address first. [in-malloc]
 */
static inline void *
th_entry_take_fresh(void *block, size_t size, enum th_alloc_function function)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)))
		th_native_reused(block);
	return th_entry_take(block, size, function);
}

/*
 * A block that th_live_blocks_may_hold() is about to be freed.  False: it is from the bootstrap
 * arena, and must not be passed to an allocator. [in-malloc]
 */
static inline bool
th_entry_release(void *block)
{
	if (th_next_is_bootstrap(block))
		return false;
	th_native_freed(th_native_unlink(block));
	return true;
}

#endif
