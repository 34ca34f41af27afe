/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident pages of an address range: /proc/PID/pagemap, 8 bytes per page.
 *
 * The kernel also reports pages as present that were read but never written (the zero page),
 * which RSS does not count; callers that need RSS scale by the smaps values of the mapping.
 */
#ifndef TH_UNIFY_RESIDENT_PAGEMAP_H
#define TH_UNIFY_RESIDENT_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the file that are cached between calls. */
#define TH_PAGE_MAP_ENTRIES 1024

struct th_page_map {
	int descriptor; /* -1: unreadable */
	uintptr_t page_bytes;
	uintptr_t first; /* page number of entries[0] */
	size_t count;
	uint64_t entries[TH_PAGE_MAP_ENTRIES];
};

struct th_page_use {
	uint64_t resident; /* bytes */
	uint64_t swapped;
};

/*
 * Opens the pagemap of the observed process.  False: not possible; then all results are zero.
 * [any]
 */
bool th_page_map_open(struct th_page_map *map);
void th_page_map_close(struct th_page_map *map);

/*
 * Bytes of [start, end) whose pages are present, or in swap.  Consecutive neighbouring ranges
 * cost one system call per 1,024 pages. [any]
 */
struct th_page_use th_page_map_use(struct th_page_map *map, uintptr_t start, uintptr_t end);

#endif
