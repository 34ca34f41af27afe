/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own memory: anonymous mappings, never the application's malloc.
 */
#ifndef TH_UNIFY_BASE_MEMORY_H
#define TH_UNIFY_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"

/*
 * `bytes` of zeroed memory in whole pages, touched lazily; NULL when there is none.  Tables that
 * live as long as the process use it once; nothing is ever given back.  Preserves errno. [any]
 */
void *th_memory_map(size_t bytes);

/*
 * The same for a part of a table that is needed for the first time: `place` points to the pointer to
 * it, which is NULL until then.  Of several threads one provides it.  Tables begin small: what is
 * mapped counts against the host's limits, and mlockall() brings all of it into memory. [any]
 */
void *th_memory_map_once(void *place, size_t bytes);

/*
 * Bytes of these mappings that are in memory, by mincore(2); not the library's code and static
 * data (under 1 MiB), nor the log.  Takes some ten microseconds. [agent-thread]
 */
uint64_t th_memory_resident(void);

/*
 * mmap (readable and writable, from offset 0) and munmap as system calls: the functions of those
 * names are interposed, and what the library maps is no business of its report.  As mmap,
 * MAP_FAILED and errno. [any]
 */
void *th_memory_system_map(void *address, size_t bytes, int flags, int descriptor);
void th_memory_system_unmap(void *start, size_t bytes);

/* In the tool: knows the mappings of the observed process's library, and forgets its own. */
struct th_observed_part th_memory_part(void);
bool th_memory_observe(const void *part);

/* Calls `visit` with each of these mappings. [any] */
void th_memory_each(void (*visit)(const void *start, size_t bytes, void *data), void *data);

#endif
