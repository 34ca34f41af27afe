/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working tables of a breakdown, in the library's own memory and touched only as needed,
 * since a breakdown may be taken while the process ends, and must not change what it measures.
 * Private to unify/resident/; the lock in breakdown.c protects all of it.
 */
#ifndef TH_UNIFY_RESIDENT_TABLES_H
#define TH_UNIFY_RESIDENT_TABLES_H

#include <stdint.h>

#include "unify/resident/address_space.h"
#include "unify/resident/cgroup.h"
#include "unify/resident/claims.h"
#include "unify/resident/pagemap.h"
#include "unify/resident/rows.h"

/*
 * Maximum number of pieces of one mapping with different owners; the last one includes the
 * rest.
 */
#define TH_BREAKDOWN_PIECES_MAX 8192u
/* Maximum number of ranges of malloc's heaps in a breakdown: 24 KiB of the log. */
#define TH_BREAKDOWN_STRETCHES_MAX 1024u
/* Blocks in one TOUCHED: 8 KiB of the log. */
#define TH_BREAKDOWN_TOUCHED_MAX 512u

struct th_breakdown_claims {
	struct th_claims exact;
	struct th_claims owners;
};

/* Part of a mapping with one owner. */
struct th_breakdown_piece {
	uintptr_t start;
	uintptr_t end;
	const struct th_claim *claim; /* NULL: determined by the mapping itself */
	struct th_page_use use;
};

/* A range of a malloc heap, as in MALLOC_HEAPS. */
struct th_breakdown_stretch {
	uint64_t start;
	uint64_t bytes;
	uint64_t resident;
};

/* A sampled block of the C heap. */
struct th_breakdown_block {
	uintptr_t address;
	uint64_t sample;
	uint64_t size;
};

struct th_breakdown_tables {
	struct th_address_space space;
	struct th_breakdown_block
		*blocks; /* TH_LIVE_BLOCKS_MAX, by th_breakdown_owners_settle() */
	uint32_t block_count;
	struct th_breakdown_claims claims;
	struct th_breakdown_rows rows;
	struct th_page_map pages;
	struct th_breakdown_piece pieces[TH_BREAKDOWN_PIECES_MAX];
	struct th_breakdown_stretch stretches[TH_BREAKDOWN_STRETCHES_MAX];
	uint32_t stretch_count;
	uint64_t touched[2 * TH_BREAKDOWN_TOUCHED_MAX];
	uint32_t touched_count; /* in blocks */
	struct th_event_account event;
	const char *own_path;  /* path of this library's image */
	const char *allocator; /* the name of malloc's library, NULL if it is libc */
	char text[TH_CGROUP_TEXT_MAX];
};

#endif
