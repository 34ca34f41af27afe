/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of logs: what a pattern (TWINHEAP_OUTPUT, --output) stands for.  %p is the process id, %h
 * the host name, %% a percent sign; anything else stands for itself.  No allocation.
 */
#ifndef TH_UNIFY_SHARED_LOG_NAME_H
#define TH_UNIFY_SHARED_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Appends what `pattern` stands for to the string in `name`, which has room for `capacity` bytes;
 * `pid` is put in place of %p.  NULL: the result is a pattern still, in which only %h is replaced.
 * False: it does not fit, and what is there is cut. [any]
 */
bool th_log_name_expand(const char *pattern, const char *pid, char *name, size_t capacity);

/* Whether the last component of a pattern has the process id in it. [any] */
bool th_log_name_has_pid(const char *pattern);

/*
 * Inserts a dot and `number` before the extension, which is what follows the last dot of the last
 * component; at the end where there is none.  Done where a name is taken.  False: there is no room,
 * and nothing was changed. [any]
 */
bool th_log_name_insert(char *name, size_t capacity, const char *number);

#endif
