/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident pages of an address range: /proc/PID/pagemap.
 *
 * Since Linux 6.7 one request (PAGEMAP_SCAN) gives the resident ranges of the whole process.  The
 * kernel only walks the page tables for it; to fill the file or smaps, it also looks at each page.
 * Otherwise the file is read as needed, 8 bytes per page.  There the kernel also reports pages as
 * present that were read but never written (the zero page), which RSS does not count; callers that
 * need RSS scale by the resident bytes of the mapping.
 */
#ifndef TH_UNIFY_RESIDENT_PAGEMAP_H
#define TH_UNIFY_RESIDENT_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the file that are cached between calls. */
#define TH_PAGE_MAP_ENTRIES 1024
/* Resident ranges of a process: 500 are usual, 65,536 are 1.5 MiB. */
#define TH_PAGE_MAP_RANGES 65536u

/* As the kernel's struct page_region. */
struct th_page_range {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct th_page_map {
	int descriptor; /* -1: unreadable */
	uintptr_t page_bytes;
	struct th_page_range *ranges; /* resident, ascending; NULL: out of memory */
	uint32_t range_count;
	bool is_scanned; /* `ranges` answers, not the file */
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
 * Finds all resident ranges of [start, end), which contains all mappings; they answer
 * th_page_map_use() from now on.  False: the kernel cannot, there are too many ranges, or only smaps
 * is right: swap or pages of hugetlbfs, which RSS does not count, are in use. [any]
 */
bool th_page_map_scan(struct th_page_map *map, uintptr_t start, uintptr_t end);

/*
 * Bytes of [start, end) whose pages are present, or in swap.  Consecutive neighbouring ranges
 * cost one system call per 1,024 pages. [any]
 */
struct th_page_use th_page_map_use(struct th_page_map *map, uintptr_t start, uintptr_t end);

#endif
