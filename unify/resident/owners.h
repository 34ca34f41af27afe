/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns which addresses: everything the library knows of, gathered before any mapping is
 * looked at.
 */
#ifndef TH_UNIFY_RESIDENT_OWNERS_H
#define TH_UNIFY_RESIDENT_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

struct th_breakdown_tables;

/*
 * Claims the library's own memory, loaded images, malloc's arenas, stacks, and what was mapped
 * past malloc.  The address space must have been read. [any]
 */
void th_breakdown_owners_claim(struct th_breakdown_tables *tables);

/*
 * Everybody has claimed: sorts, and claims large blocks of malloc where nobody else did.
 * [any]
 */
void th_breakdown_owners_settle(struct th_breakdown_tables *tables);

/* Whether a block of malloc lies in a heap of the allocator; small ones do. [any] */
bool th_breakdown_owners_is_heap(const struct th_breakdown_tables *tables, uintptr_t address);

#endif
