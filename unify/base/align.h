/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TH_UNIFY_BASE_ALIGN_H
#define TH_UNIFY_BASE_ALIGN_H

#include <stdint.h>

/* The page size of every supported kernel is a multiple of this. */
#define TH_PAGE_BYTES 4096u

/* [any] */
static inline uint64_t
th_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
th_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* `alignment` is a power of two. [any] */
static inline uint64_t
th_align_down(uint64_t value, uint64_t alignment)
{
	return value & -alignment;
}

static inline uint64_t
th_align_up(uint64_t value, uint64_t alignment)
{
	return th_align_down(value + alignment - 1, alignment);
}

#endif
