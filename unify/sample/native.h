/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the C heap: what happens when a block takes up a thread's countdown, and when one
 * that was sampled goes.
 */
#ifndef TH_UNIFY_SAMPLE_NATIVE_H
#define TH_UNIFY_SAMPLE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

/* `tracks`: the live table (live.h) works, blocks are followed to their end. */
void th_native_start(bool tracks);

/*
 * Waits for a first sample: nothing is recorded until one is due by countdowns of this mean.  Then
 * `begin` is called, which is to start the recording, and that sample is its first.  For the
 * calling process.  Not concurrently.
 */
void th_native_wait(uint64_t interval, void (*begin)(void));

/*
 * The slow path of every allocation function: this block, which the next allocator returned, took
 * up the countdown of the calling thread.  NULL: it failed, the bytes are given back. Preserves
 * errno. [in-malloc]
 */
void th_native_allocated(void *block, size_t size, enum th_alloc_function function);

/*
 * Takes a block that th_live_blocks_may_hold() out of the live table, before it is really freed.
 * Returns its sample, 0 if it had none. Preserves errno. [in-malloc]
 */
uint64_t th_native_unlink(void *block);

/* The block of that sample was freed. [in-malloc] */
void th_native_freed(uint64_t sample);

/* It was not (realloc failed): enters it again. [in-malloc] */
void th_native_relink(void *block, uint64_t sample);

#endif
