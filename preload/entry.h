/* SPDX-License-Identifier: Apache-2.0 */
/* What all entry points have in common. */
#ifndef TH_PRELOAD_ENTRY_H
#define TH_PRELOAD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/next.h"
#include "unify/sample/native.h"
#include "unify/sample/thread.h"

#define EXPORT __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Takes a block off the countdown of the calling thread; true: it is to be sampled. [in-malloc] */
static inline bool
th_entry_is_due(size_t size)
{
	return UNLIKELY(th_countdown_take(&th_thread.countdown, size));
}

/*
 * The same for a block that is already there, or NULL where the allocator refused.  For functions
 * that may fail in a way that gives nothing back, such as an exception. [in-malloc]
 */
static inline void *
th_entry_take(void *block, size_t size, enum th_alloc_function function)
{
	if (block && th_entry_is_due(size))
		th_native_allocated(block, size, function);
	return block;
}

/*
 * A block that th_live_blocks_may_hold() is about to be freed.  False: no allocator underneath knows it,
 * and there is nothing to free. [in-malloc]
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
