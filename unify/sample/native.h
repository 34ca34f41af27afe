/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the C heap: called when a block exhausts a thread's countdown, and when a sampled
 * block is freed.
 */
#ifndef TH_UNIFY_SAMPLE_NATIVE_H
#define TH_UNIFY_SAMPLE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

/*
 * Defers the recording until a first sample is due, by countdowns with this mean.  Then `begin`
 * is called, which must start the recording, and that sample is its first; or does not, and is
 * called again at later ones, maybe concurrently.  For the calling process.  Not concurrently.
 */
void th_native_wait(uint64_t interval, void (*begin)(void));

/*
 * The slow path of every allocation function: `block`, which the next allocator returned,
 * exhausted the countdown of the calling thread.  NULL: the allocation failed, and its bytes
 * are returned to the countdown.  Preserves errno. [in-malloc]
 */
void th_native_allocated(void *block, size_t size, enum th_alloc_function function);

/*
 * Removes a block for which th_live_blocks_may_hold() is true from the live table, before it is
 * actually freed.  Returns its sample, 0 if it had none.  Preserves errno. [in-malloc]
 */
uint64_t th_native_unlink(void *block);

/* Records that the block of this sample was freed. [in-malloc] */
void th_native_freed(uint64_t sample);

/*
 * The next allocator has just handed out `block`, for which th_live_blocks_may_hold() is true: if
 * a sample of this address is still alive, its free was not seen, and is recorded now.  Preserves
 * errno. [in-malloc]
 */
void th_native_reused(void *block);

/*
 * Another recording may follow this one: between them, countdowns stay as they were drawn.  Before
 * the recording begins. [any]
 */
void th_native_keep_countdowns(void);

/* The block was not freed (realloc failed): inserts it again. [in-malloc] */
void th_native_relink(void *block, uint64_t sample);

#endif
