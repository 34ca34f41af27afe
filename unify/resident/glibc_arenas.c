/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc/arena.c, glibc 2.17 to 2.41: a region starts with
 *
 *   struct malloc_state *ar_ptr    its arena, located right after this header in the arena's
 *                                  first region
 *   heap_info *prev                the arena's previous region, NULL in the first
 *   size_t size                    bytes in use
 *   size_t mprotect_size           bytes made accessible
 *
 * Five relations must hold between the four words, so that other memory is not mistaken for
 * one.
 */
#include "unify/resident/glibc_arenas.h"

#include <stddef.h>

#include "unify/base/align.h"
#include "unify/base/observed.h"

/* Upper bound of sizeof(heap_info) in all of these versions. */
#define HEAD_MAX 128

struct head {
	uintptr_t arena;
	uintptr_t previous;
	uint64_t used;
	uint64_t accessible;
};

static bool
is_aligned(uintptr_t address)
{
	return !(address & (TH_GLIBC_ARENA_HEAP_BYTES - 1));
}

/*
 * The arena is in the header of this region, or of another one if there is a previous region.
 */
static bool
fits_arena(const struct head *head, uintptr_t address)
{
	uintptr_t home = head->arena & -TH_GLIBC_ARENA_HEAP_BYTES;
	uintptr_t behind = head->arena - home;

	if (!behind || behind > HEAD_MAX || behind % sizeof(void *))
		return false;
	return home == address ? !head->previous : head->previous && is_aligned(head->previous);
}

bool
th_glibc_arena_heap_at(uintptr_t address, uintptr_t *end_ret)
{
	struct head head;

	if (!address || !is_aligned(address) ||
		!th_observed_copy(address, &head, sizeof(head)) || !fits_arena(&head, address))
		return false;
	if (!head.used || head.used > head.accessible ||
		head.accessible > TH_GLIBC_ARENA_HEAP_BYTES || head.used % TH_PAGE_BYTES ||
		head.accessible % TH_PAGE_BYTES)
		return false;
	*end_ret = address + head.accessible;
	return true;
}
