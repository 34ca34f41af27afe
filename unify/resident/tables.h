/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an account is made of while it is taken: tables of our own, touched as far as they are used,
 * since one is taken while the process ends, and none may change what it measures.  Private to the
 * account_*.c files; the lock that account.c holds covers all of it.
 */
#ifndef TH_UNIFY_RESIDENT_TABLES_H
#define TH_UNIFY_RESIDENT_TABLES_H

#include <stdint.h>

#include "unify/resident/rows.h"
#include "unify/resident/address_space.h"
#include "unify/resident/cgroup.h"
#include "unify/resident/claims.h"
#include "unify/resident/pagemap.h"

/* Pieces of one mapping that belong to different owners; the last takes the rest. */
#define TH_BREAKDOWN_PIECES_MAX 8192u
/* Stretches of malloc's heaps that an account tells of: 24 KiB of the log. */
#define TH_BREAKDOWN_STRETCHES_MAX 1024u
/* Blocks in one TOUCHED: 8 KiB of the log. */
#define TH_BREAKDOWN_TOUCHED_MAX 512u

struct th_breakdown_claims {
	struct th_claims exact;
	struct th_claims owners;
};

/* Part of a mapping that has one owner. */
struct th_breakdown_piece {
	uintptr_t start;
	uintptr_t end;
	const struct th_claim *claim; /* NULL: by what the mapping itself says */
	struct th_page_use use;
};

/* A stretch of a heap of malloc, as MALLOC_HEAPS has it. */
struct th_breakdown_stretch {
	uint64_t start;
	uint64_t bytes;
	uint64_t resident;
};

struct th_breakdown_tables {
	struct th_address_space space;
	struct th_breakdown_claims claims;
	struct th_breakdown_rows rows;
	struct th_page_map pages;
	struct th_breakdown_piece pieces[TH_BREAKDOWN_PIECES_MAX];
	struct th_breakdown_stretch stretches[TH_BREAKDOWN_STRETCHES_MAX];
	uint32_t stretch_count;
	uint64_t touched[2 * TH_BREAKDOWN_TOUCHED_MAX];
	uint32_t touched_count; /* blocks */
	struct th_event_account event;
	const char *own_path;  /* of this library's image */
	const char *allocator; /* the name of malloc's library, NULL if it is libc */
	char text[TH_CGROUP_TEXT_MAX];
};

#endif
