/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/late_entry.h"

#include <errno.h>
#include <stdint.h>

#include "preload/entry.h"

void *
th_late_malloc(size_t size)
{
	return th_entry_take_fresh(th_next.malloc(size), size, TH_FUNCTION_MALLOC);
}

void *
th_late_calloc(size_t count, size_t size)
{
	/* The product has not overflowed if there is a block. */
	return th_entry_take_fresh(
		th_next.calloc(count, size), count * size, TH_FUNCTION_CALLOC);
}

/* As realloc_tracked() in entry.c. */
void *
th_late_realloc(void *block, size_t size)
{
	uint64_t sample = UNLIKELY(th_live_blocks_may_hold(block)) ? th_native_unlink(block)
								   : 0;
	void *moved = th_next.realloc(block, size);

	if (!moved && size) {
		th_native_relink(block, sample);
		return NULL;
	}
	th_native_freed(sample);
	return th_entry_take_fresh(moved, size, TH_FUNCTION_REALLOC);
}

void *
th_late_reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return th_late_realloc(block, bytes);
}

static void *
aligned(void *block, size_t size)
{
	return th_entry_take_fresh(block, size, TH_FUNCTION_ALIGNED);
}

int
th_late_posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	int result = th_next.posix_memalign(block_ret, alignment, size);

	if (!result)
		aligned(*block_ret, size);
	return result;
}

void *
th_late_aligned_alloc(size_t alignment, size_t size)
{
	return aligned(th_next.aligned_alloc(alignment, size), size);
}

void *
th_late_memalign(size_t alignment, size_t size)
{
	return aligned(th_next.memalign(alignment, size), size);
}

void *
th_late_valloc(size_t size)
{
	return aligned(th_next.valloc(size), size);
}

void *
th_late_pvalloc(size_t size)
{
	return aligned(th_next.pvalloc(size), size);
}

void
th_late_free(void *block)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)))
		th_native_freed(th_native_unlink(block));
	th_next.free(block);
}

void
th_late_free_sized(void *block, size_t size)
{
	(void)size;
	th_late_free(block);
}

void
th_late_free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	th_late_free(block);
}
