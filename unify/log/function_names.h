/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the names of the native functions that occur in stacks to the log, once each, while
 * their modules are loaded: many JNI libraries are temporary files that are deleted right after
 * loading, and a report has no file to look into.
 */
#ifndef TH_UNIFY_LOG_FUNCTION_NAMES_H
#define TH_UNIFY_LOG_FUNCTION_NAMES_H

#include <stdbool.h>

/*
 * Names the functions at addresses that were met since the last call.  With `all` false it reads
 * the symbol table of at most one module, and none while the last reads took more than 1 % of
 * the time since: 1 ms for the largest VMs, at most some 50 ms (TH_ELF_SYMBOLS_MAX).  `all`:
 * of every module, at the end of a recording or on demand.  Waits for the loader's lock, so not
 * on the malloc path; of two threads the second returns at once.  Under the guard.
 */
void th_function_names_log(bool all);

/* In a forked child: all functions are to be named again. */
void th_function_names_reset(void);

#endif
