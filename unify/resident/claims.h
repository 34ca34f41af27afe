/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners of address ranges, as known to parts of the library.  The kernel joins neighbouring
 * mappings, so the border of an owner's memory may lie inside a mapping.
 */
#ifndef TH_UNIFY_RESIDENT_CLAIMS_H
#define TH_UNIFY_RESIDENT_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

struct th_claim {
	uintptr_t start;
	uintptr_t end;
	const char *name; /* must stay valid while the claims are in use */
	enum th_memory_category category;
	uint32_t stack;    /* id of the stack that mapped it; 0 = unknown */
	uint64_t sample;   /* that represents it; 0 = none */
	uint64_t resident; /* bytes, if measured */
	bool is_measured;  /* `resident` is set */
};

struct th_claims {
	struct th_claim *items; /* owned by the caller */
	uint32_t capacity;
	uint32_t count;
	bool is_full; /* a claim was dropped */
};

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

#endif
