/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own memory: anonymous mappings, never the application's malloc.
 */
#ifndef TH_UNIFY_MEMORY_H
#define TH_UNIFY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * `bytes` of zeroed memory in whole pages, touched lazily; NULL when there is none.  Tables that
 * live as long as the process use it once; nothing is ever given back.  Preserves errno. [any]
 */
void *th_memory_map(size_t bytes);

/*
 * Bytes of these mappings that are in memory, by mincore(2); not the library's code and static
 * data (under 1 MiB), nor the log.  Takes some ten microseconds. [agent-thread]
 */
uint64_t th_memory_resident(void);

#endif
