/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interposed allocation functions.  Each decrements the thread's countdown by the size, or
 * checks the live filter for the block, and jumps to the next allocator; everything else is in
 * the slow paths. tests/e2e/test_build.c counts the instructions.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "preload/entry.h"
#include "preload/next.h"
#include "unify/sample/live_blocks.h"

/* Not declared in every <stdlib.h>. */
EXPORT void cfree(void *block);
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);

/* Allocation */

static SLOW void *
malloc_due(size_t size)
{
	void *block = th_next.malloc(size);

	th_native_allocated(block, size, TH_FUNCTION_MALLOC);
	return block;
}

EXPORT void *
malloc(size_t size)
{
	if (th_entry_is_due(size))
		return malloc_due(size);
	return th_next.malloc(size);
}

static SLOW void *
calloc_due(size_t count, size_t size)
{
	void *block = th_next.calloc(count, size);

	th_native_allocated(block, count * size, TH_FUNCTION_CALLOC);
	return block;
}

EXPORT void *
calloc(size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes) && th_entry_is_due(bytes))
		return calloc_due(count, size);
	return th_next.calloc(count, size);
}

static void *
aligned(void *block, size_t size)
{
	return th_entry_take(block, size, TH_FUNCTION_ALIGNED);
}

EXPORT int
posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	int result = th_next.posix_memalign(block_ret, alignment, size);

	aligned(result ? NULL : *block_ret, size);
	return result;
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
	return aligned(th_next.aligned_alloc(alignment, size), size);
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
	return aligned(th_next.memalign(alignment, size), size);
}

EXPORT void *
valloc(size_t size)
{
	return aligned(th_next.valloc(size), size);
}

EXPORT void *
pvalloc(size_t size)
{
	return aligned(th_next.pvalloc(size), size);
}

/* Deallocation */

static SLOW void
free_tracked(void *block)
{
	if (th_entry_release(block))
		th_next.free(block);
}

EXPORT void
free(void *block)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)))
		free_tracked(block);
	else
		th_next.free(block);
}

/* glibc before 2.26 still had it. */
void
cfree(void *block)
{
	free(block);
}

/* C23.  The sizes are hints; the next allocator may lack these functions, so free is called. */
void
free_sized(void *block, size_t size)
{
	(void)size;
	free(block);
}

void
free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free(block);
}

/* Reallocation: counts as a free of the old block and an allocation of the whole new one */

static void *
move_bootstrap(void *block, size_t size)
{
	size_t old = th_next_bootstrap_bytes(block);
	void *moved = malloc(size);

	if (moved)
		memcpy(moved, block, old < size ? old : size);
	return moved;
}

/*
 * The old block is removed from the table before the next allocator can give its address to
 * another thread, and is restored if the reallocation fails.
 */
static SLOW void *
realloc_tracked(void *block, size_t size)
{
	if (th_next_is_bootstrap(block))
		return move_bootstrap(block, size);
	uint64_t sample = th_native_unlink(block);
	void *moved = th_next.realloc(block, size);
	if (!moved && size) {
		th_native_relink(block, sample);
		return NULL;
	}
	th_native_freed(sample);
	if (th_entry_is_due(size))
		th_native_allocated(moved, size, TH_FUNCTION_REALLOC);
	return moved;
}

static SLOW void *
realloc_due(void *block, size_t size)
{
	void *moved = th_next.realloc(block, size);

	th_native_allocated(moved, size, TH_FUNCTION_REALLOC);
	return moved;
}

EXPORT void *
realloc(void *block, size_t size)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)))
		return realloc_tracked(block, size);
	if (th_entry_is_due(size))
		return realloc_due(block, size);
	return th_next.realloc(block, size);
}

/* <stdlib.h> declares it since glibc 2.26. */
extern void *reallocarray(void *block, size_t count, size_t size);

EXPORT void *
reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
}

EXPORT size_t
malloc_usable_size(void *block)
{
	if (UNLIKELY(th_live_blocks_may_hold(block)) && th_next_is_bootstrap(block))
		return th_next_bootstrap_bytes(block);
	return th_next.malloc_usable_size(block);
}
