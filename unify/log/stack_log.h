/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning of stacks: equal stacks get one id, and stacks and modules are written to the log once, on
 * first occurrence.
 *
 * The table holds hashes, not frames (unify/base/hash_set.h): among 262,144 stacks two share an id with
 * probability 2^-27.  A stack that is inserted by two threads at once may have two ids, which the
 * report merges.  Samples of stacks beyond TH_HASH_SET_MOST are dropped and counted.
 */
#ifndef TH_UNIFY_LOG_STACK_LOG_H
#define TH_UNIFY_LOG_STACK_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * The id of a stack, leaf first, after ensuring that the log has the stack and its modules.
 * `flags` are of enum th_stack_flag.  0: the table or the log is full, which is counted.
 * *use_ret is for th_stack_log_use(), NULL if the id is 0.
 * [in-malloc]
 */
uint32_t
th_stack_log_id(const uint64_t *frames, uint32_t count, uint32_t flags, uint32_t **use_ret);

/*
 * Another use of a stack, by *use_ret of the call that gave its id; false: the log has it no
 * longer.  Not after th_stack_log_reset(). [in-malloc]
 */
bool th_stack_log_use(uint32_t *use);

/* Ensures that the log has a module, by its id; a duplicate record is harmless. [in-malloc] */
void th_stack_log_module(uint32_t id);

/* In a forked child: forgets all stacks; the modules must be written again to the next log. */
void th_stack_log_reset(void);

#endif
