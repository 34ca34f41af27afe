/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a breakdown: sums by category, name and stack. */
#ifndef TH_UNIFY_RESIDENT_ROWS_H
#define TH_UNIFY_RESIDENT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/resident/address_space.h"
#include "unify/shared/log_format.h"

#define TH_BREAKDOWN_ROWS_MAX 1024u

struct th_breakdown_amount {
	uint64_t resident;
	uint64_t swapped;
	uint64_t size;       /* address space */
	uint64_t accessible; /* of it, readable, writable or executable */
	uint32_t mappings;
};

struct th_breakdown_row {
	enum th_memory_category category;
	uint32_t stack;
	uint32_t hash; /* of the name */
	struct th_breakdown_amount amount;
	char name[TH_MAPPING_PATH_MAX];
};

struct th_breakdown_rows {
	struct th_breakdown_row *items; /* TH_BREAKDOWN_ROWS_MAX items, owned by the caller */
	uint32_t count;
	bool is_full; /* some amounts are in rows without their name */
};

/* The identity of a row. */
struct th_breakdown_key {
	enum th_memory_category category;
	uint32_t stack;   /* that mapped it; 0 = unknown */
	const char *name; /* truncated to the size of the row's name */
};

/*
 * Adds to the row of this key, which is created if necessary; if the table is full, to a row
 * without name and stack. [any]
 */
void th_breakdown_rows_add(struct th_breakdown_rows *rows, const struct th_breakdown_key *key,
	const struct th_breakdown_amount *amount);

/*
 * Combines the rows of a category that have less than `least` resident bytes and no swapped
 * bytes into one row `name`. [any]
 */
void th_breakdown_rows_fold(struct th_breakdown_rows *rows, enum th_memory_category category,
	uint64_t least, const char *name);

#endif
