/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning of stacks: equal stacks get one id and are written to the log once.
 *
 * The table holds 128-bit hashes, not frames: two of 262,144 stacks collide with probability
 * 2^-93.  Insertion takes no lock.  A thread that finds a half-inserted entry waits for about a
 * microsecond, then inserts the stack again under a second id, which the report merges: no
 * thread depends on one that was preempted in between.
 */
#ifndef TH_UNIFY_LOG_STACK_TABLE_H
#define TH_UNIFY_LOG_STACK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of distinct stacks; samples of further stacks are dropped and counted. */
#define TH_STACKS_MAX (1u << 18)

/* Maps the table; false: out of memory.  Once. */
bool th_stack_table_init(void);

/*
 * The id (1..) of a stack of `count` frame words, leaf first, under `flags` (enum
 * th_stack_flag); 0 if the table is full.  **logged_ret, atomic, is 0 until a caller has
 * written the STACK record and sets it, and set anew at each use, to the turn of the ring
 * (th_ring_chunk()); writing the record twice is harmless. [in-malloc]
 */
uint32_t th_stack_table_intern(
	const uint64_t *frames, size_t count, uint32_t flags, uint32_t **logged_ret);

/*
 * The log drops the STACK record of this stack, unless `logged` is at least `used`: then false.
 * Afterwards `logged` is 0, and the record is written again at the next use. [in-malloc]
 */
bool th_stack_table_forget(const uint64_t *frames, size_t count, uint32_t flags, uint32_t used);

/* In a forked child: forgets all stacks. */
void th_stack_table_reset(void);

#endif
