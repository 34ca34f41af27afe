/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The working tables of a breakdown, in the library's own memory and touched only as needed,
 * since a breakdown may be taken while the process ends, and must not change what it measures.
 * Private to unify/resident/; the lock in breakdown.c protects all of it.
 */
#ifndef TH_UNIFY_RESIDENT_TABLES_H
#define TH_UNIFY_RESIDENT_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unify/resident/address_space.h"
#include "unify/resident/breakdown.h"
#include "unify/resident/cgroup.h"
#include "unify/resident/pagemap.h"

/*
 * Maximum number of pieces of one mapping with different owners; the last one includes the
 * rest.
 */
#define TH_BREAKDOWN_PIECES_MAX 8192u
/* Maximum number of ranges of malloc's heaps in a breakdown: 24 KiB of the log. */
#define TH_BREAKDOWN_STRETCHES_MAX 1024u
/* Blocks in one TOUCHED: 8 KiB of the log. */
#define TH_BREAKDOWN_TOUCHED_MAX 512u

/* Rows: sums by category, name and stack */

#define TH_BREAKDOWN_ROWS_MAX 1024u

struct th_breakdown_row {
	struct th_event_account_row event; /* but for the number of the breakdown */
	uint32_t hash;                     /* of the name */
	char name[TH_MAPPING_PATH_MAX];
};

struct th_breakdown_rows {
	struct th_breakdown_row *items; /* TH_BREAKDOWN_ROWS_MAX items, owned by the caller */
	uint32_t count;
	bool is_full; /* some amounts are in rows without their name */
};

/* The tables */

struct th_claims {
	struct th_claim *items; /* owned by the caller */
	uint32_t capacity;
	uint32_t count;
	bool is_full; /* a claim was dropped */
};

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
	const char *log_path;  /* of its log; NULL: not known */
	const char *allocator; /* the name of malloc's library, NULL if it is libc */
	char text[TH_CGROUP_TEXT_MAX];
};

/* Whether a path or name ends with another. [any] */
static inline bool
th_name_ends_with(const char *name, const char *end)
{
	size_t length = strlen(name);

	return length >= strlen(end) && !strcmp(name + length - strlen(end), end);
}

/* Owners of addresses: owners.c */

/* Adds a range; an empty one is ignored. [any] */
void th_claims_add(struct th_claims *claims, const struct th_claim *claim);

/*
 * Sorts by address and resolves overlaps: the claim that starts first keeps the overlap; of two
 * that start together, the shorter one. [any]
 */
void th_claims_sort(struct th_claims *claims);

/*
 * The claim on `address`, NULL if there is none.  *next_ret: the next higher address at which
 * the result may change.  After th_claims_sort(). [any]
 */
const struct th_claim *
th_claims_at(const struct th_claims *claims, uintptr_t address, uintptr_t *next_ret);

/* HEAP_MAX_SIZE of malloc/arena.c on 64-bit machines: twice the largest mmap threshold. */
#define TH_GLIBC_ARENA_HEAP_BYTES (UINT64_C(64) << 20)

/*
 * Whether a heap of an arena of glibc's malloc, but for the one at brk, begins at `address`, a multiple
 * of TH_GLIBC_ARENA_HEAP_BYTES, and the end of its used part.  These are regions aligned to their size,
 * which libc maps without a call that can be intercepted.  Reads the observed process's memory with checks. [any]
 */
bool th_glibc_arena_heap_at(uintptr_t address, uintptr_t *end_ret);

/*
 * Claims the library's own memory, loaded images, malloc's arenas, stacks, and directly mapped
 * memory.  The address space must have been read. [any]
 */
void th_breakdown_owners_claim(struct th_breakdown_tables *tables);

/*
 * After all other claims: sorts them, lists the sampled blocks in `blocks`, and claims large malloc
 * blocks in unclaimed memory. [any]
 */
void th_breakdown_owners_settle(struct th_breakdown_tables *tables);

/* Whether a malloc block lies in a heap of the allocator, as small ones do. [any] */
bool th_breakdown_owners_is_heap(const struct th_breakdown_tables *tables, uintptr_t address);

/* From mappings and owners to rows: attribute.c */

/*
 * Adds to the row of this category, stack and name, which is truncated; the row is created if necessary.
 * If the table is full, to a row without name and stack. [any]
 */
void th_breakdown_rows_add(struct th_breakdown_rows *rows,
	const struct th_event_account_row *event, const char *name);

/*
 * Combines the rows of a category that have less than `least` resident bytes and no swapped
 * bytes into one row `name`. [any]
 */
void th_breakdown_rows_fold(struct th_breakdown_rows *rows, enum th_memory_category category,
	uint64_t least, const char *name);

/*
 * Fills tables->rows, and the resident bytes of claims with a sample.  After
 * th_breakdown_owners_settle(). [any]
 */
void th_breakdown_divide(struct th_breakdown_tables *tables);

#endif
