/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and modules in the log: each is written once, when it is new.
 */
#ifndef TH_UNIFY_LOG_STACK_LOG_H
#define TH_UNIFY_LOG_STACK_LOG_H

#include <stdint.h>

/*
 * The id of a stack, leaf first, that the log now holds, with its modules; `flags` are of enum
 * th_stack_flag.  0: the table or the log is full, which is counted. [in-malloc]
 */
uint32_t th_stack_log_id(const uint64_t *frames, uint32_t count, uint32_t flags);

/* Has the log hold a module, by its id; written twice does no harm. [in-malloc] */
void th_stack_log_module(uint32_t id);

/* In a forked child: the next log is to hold the modules again. */
void th_stack_log_reset(void);

#endif
