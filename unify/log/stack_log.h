/* SPDX-License-Identifier: Apache-2.0 */
/* Writes stacks and modules to the log, each once, on first occurrence. */
#ifndef TH_UNIFY_LOG_STACK_LOG_H
#define TH_UNIFY_LOG_STACK_LOG_H

#include <stdbool.h>
#include <stdint.h>

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
 * longer.  Not after th_stack_table_reset(). [in-malloc]
 */
bool th_stack_log_use(uint32_t *use);

/* Ensures that the log has a module, by its id; a duplicate record is harmless. [in-malloc] */
void th_stack_log_module(uint32_t id);

/* In a forked child: the modules must be written again to the next log. */
void th_stack_log_reset(void);

#endif
