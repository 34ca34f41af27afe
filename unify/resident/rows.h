/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of an account: sums by category, name and stack.
 */
#ifndef TH_UNIFY_RESIDENT_ROWS_H
#define TH_UNIFY_RESIDENT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"
#include "unify/resident/smaps.h"

#define TH_BREAKDOWN_ROWS_MAX 1024u

struct th_breakdown_amount {
	uint64_t resident;
	uint64_t swapped;
	uint64_t size;       /* address space */
	uint64_t accessible; /* of it: may be read, written or executed */
	uint32_t mappings;
};

struct th_breakdown_row {
	enum th_memory_category category;
	uint32_t stack;
	uint32_t hash; /* of the name */
	struct th_breakdown_amount amount;
	char name[TH_SMAPS_PATH_MAX];
};

struct th_breakdown_rows {
	struct th_breakdown_row *items; /* TH_BREAKDOWN_ROWS_MAX of the caller's memory */
	uint32_t count;
	bool is_full; /* some amounts went to rows without their name */
};

/* What tells rows apart. */
struct th_breakdown_key {
	enum th_memory_category category;
	uint32_t stack;   /* that mapped it; 0 = not known */
	const char *name; /* cut to what fits */
};

/*
 * Adds to the row of that key, which is made when it is new; when there is no room for it, to
 * one without name and stack.  [any]
 */
void th_breakdown_rows_add(struct th_breakdown_rows *rows, const struct th_breakdown_key *key,
	const struct th_breakdown_amount *amount);

/*
 * Joins the rows of a category with less than `least` resident bytes and none in swap under
 * `name`. [any]
 */
void th_breakdown_rows_fold(struct th_breakdown_rows *rows, enum th_memory_category category,
	uint64_t least, const char *name);

#endif
