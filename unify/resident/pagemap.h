/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages of a range of addresses are in memory: /proc/self/pagemap, 8 bytes a page.
 *
 * The kernel also calls a page present that was only read and never written (the page of
 * zeroes), which RSS does not count; who needs RSS scales by what smaps says of the mapping.
 */
#ifndef TH_UNIFY_RESIDENT_PAGEMAP_H
#define TH_UNIFY_RESIDENT_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the file that are kept from one question to the next. */
#define TH_PAGE_MAP_ENTRIES 1024

struct th_page_map {
	int descriptor; /* -1: it cannot be read */
	uintptr_t page_bytes;
	uintptr_t first; /* number of the page that entries[0] tells of */
	size_t count;
	uint64_t entries[TH_PAGE_MAP_ENTRIES];
};

struct th_page_use {
	uint64_t resident; /* bytes */
	uint64_t swapped;
};

/*
 * Of the observed process.  False: its pagemap cannot be opened; then every answer is zero. [any]
 */
bool th_page_map_open(struct th_page_map *map);
void th_page_map_close(struct th_page_map *map);

/*
 * Bytes of [start, end) whose pages are present, or in swap.  Neighbouring ranges in turn cost
 * one system call for every 1,024 pages. [any]
 */
struct th_page_use th_page_map_use(struct th_page_map *map, uintptr_t start, uintptr_t end);

#endif
