/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns which addresses: ranges that parts of the library know of.  The kernel joins
 * neighbouring mappings into one, so the border of an owner's memory may lie inside a mapping.
 */
#ifndef TH_UNIFY_RESIDENT_CLAIMS_H
#define TH_UNIFY_RESIDENT_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/shared/log_format.h"

struct th_claim {
	uintptr_t start;
	uintptr_t end;
	const char *name; /* stays the claimer's for as long as the claims are in use */
	enum th_memory_category category;
	uint32_t stack;    /* id of the stack that mapped it; 0 = not known */
	uint64_t sample;   /* that stands for it; 0 = none */
	uint64_t resident; /* bytes, if they were found out */
	bool is_measured;  /* they were */
};

struct th_claims {
	struct th_claim *items; /* the caller's memory */
	uint32_t capacity;
	uint32_t count;
	bool is_full; /* one was dropped */
};

/* Adds a range; an empty one says nothing. [any] */
void th_claims_add(struct th_claims *claims, const struct th_claim *claim);

/*
 * Sorts by address and settles disputes: of two that overlap, the one that starts first keeps
 * what both want; of two that start together, the shorter. [any]
 */
void th_claims_sort(struct th_claims *claims);

/*
 * The claim on `address`, NULL if there is none; *next_ret: the first address above at which
 * the answer may be another.  After th_claims_sort(). [any]
 */
const struct th_claim *
th_claims_at(const struct th_claims *claims, uintptr_t address, uintptr_t *next_ret);

#endif
