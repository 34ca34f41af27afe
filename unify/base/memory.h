/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own memory: anonymous mappings, never the application's malloc. */
#ifndef TH_UNIFY_BASE_MEMORY_H
#define TH_UNIFY_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "unify/base/observed.h"

/*
 * `bytes` of zeroed memory in whole pages, touched lazily; NULL if there is none.  For tables
 * that live as long as the process: never released.  Preserves errno. [any]
 */
void *th_memory_map(size_t bytes);

/*
 * The same for a part of a table that is needed for the first time: `place` is the address of
 * the pointer to it, which is initially NULL.  Of several threads one provides the memory.
 * Tables start small: mapped bytes count against the host's limits, and mlockall() makes all of
 * them resident. [any]
 */
void *th_memory_map_once(void *place, size_t bytes);

/*
 * Nobody uses the table at `start` any more, which the functions above provided: its pages are
 * given back, and a later request of the same size gets the mapping, zeroed.  NULL is legal.
 * [any]
 */
void th_memory_retire(void *start);

/*
 * Resident bytes of these mappings, by mincore(2), without the library's code and static data
 * (under 1 MiB) and the log.  Takes some ten microseconds. [agent-thread]
 */
uint64_t th_memory_resident(void);

/*
 * Zeroed memory, touched lazily, for tables that do not live as long as the process; NULL if there is
 * none.  Preserves errno.  Given back by the other function; NULL is legal. [any]
 */
void *th_memory_reserve(size_t bytes);
void th_memory_release(void *start, size_t bytes);

/*
 * mmap (readable and writable, from offset 0) and munmap as system calls: the functions of
 * those names are interposed, and the library's own mappings must not be recorded.  As mmap,
 * MAP_FAILED and errno on failure. [any]
 */
void *th_memory_system_map(void *address, size_t bytes, int flags, int descriptor);
void th_memory_system_unmap(void *start, size_t bytes);

/* The list of these mappings. */
extern const struct th_observed_tables th_memory_tables;

/* Calls `visit` for each of these mappings. [any] */
void th_memory_each(void (*visit)(const void *start, size_t bytes, void *data), void *data);

#endif
