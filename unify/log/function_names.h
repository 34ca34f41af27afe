/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the names of the native functions that occur in stacks to the log, once each, while
 * their modules are loaded: many JNI libraries are temporary files that are deleted right after
 * loading, and a report has no file to look into.
 */
#ifndef TH_UNIFY_LOG_FUNCTION_NAMES_H
#define TH_UNIFY_LOG_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Maximum number of native addresses that occur in stacks of the log and are to be named; further ones
 * are counted and not named.
 */
#define TH_MET_MAX (1u << 16)

/* Adds a native frame word with a module.  Takes no lock. [in-malloc] */
void th_met_add(uint64_t word);

/*
 * Names the functions at addresses that were met since the last call.  With `all` false, at up
 * to some 2,000 of each module, and at none while the last call took more than 1 % of the time since
 * (0.025 % in modules whose files reports will find).
 * A call reads the symbol table of each of their modules once: 1 ms of CPU time for that of a
 * VM, at most some 50 ms (TH_ELF_SYMBOLS_MAX).  `all`: at the end of a recording or on demand.
 * Takes the loader's lock for moments, so not on the malloc path; of two threads the second
 * returns at once.  Under the guard.
 */
void th_function_names_log(bool all);

/* In a forked child: forgets all addresses; all functions are to be named again. */
void th_function_names_reset(void);

#endif
