/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the owners of addresses known to the library, before mappings are examined. */
#ifndef TH_UNIFY_RESIDENT_OWNERS_H
#define TH_UNIFY_RESIDENT_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

struct th_breakdown_tables;

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

#endif
