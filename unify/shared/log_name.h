/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of logs, expanded from a pattern (TWINHEAP_OUTPUT, --output).  %p is the process id, %h
 * the host name, %% a percent sign; other text is copied.  No allocation.
 */
#ifndef TH_UNIFY_SHARED_LOG_NAME_H
#define TH_UNIFY_SHARED_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Appends the expansion of `pattern` to the string in `name`, whose buffer has `capacity`
 * bytes. `pid` replaces %p.  NULL: the result is still a pattern, in which only %h is replaced.
 * False: the result does not fit and is truncated. [any]
 */
bool th_log_name_expand(const char *pattern, const char *pid, char *name, size_t capacity);

/* Whether the last component of a pattern contains the process id. [any] */
bool th_log_name_has_pid(const char *pattern);

/*
 * Inserts a dot and `number` before the extension, that is before the last dot of the last
 * component, or at the end without one.  Used when a name is taken.  False: it does not fit,
 * and `name` is unchanged. [any]
 */
bool th_log_name_insert(char *name, size_t capacity, const char *number);

#endif
