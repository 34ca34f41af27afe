/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that may be called anywhere, including signal handlers: blocks are cut from one
 * mapping and never reused.  It allows testing the library alone: a handler must not reenter
 * glibc's allocator.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/programs/arena.h"

#define ALIGNMENT 16

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void *memalign(size_t alignment, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **block_ret, size_t alignment, size_t bytes);
void free(void *block);
size_t malloc_usable_size(void *block);

/*
 * The size is stored before the block.  Not called by a public name: an interposer has already
 * seen the call.
 */
static void *
cut(size_t alignment, size_t bytes)
{
	size_t whole = (bytes + alignment + 2 * ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	uintptr_t start = get_arena() + __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	uintptr_t block = (start + ALIGNMENT + alignment - 1) & ~(uintptr_t)(alignment - 1);

	if (block + bytes > get_arena() + ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy((char *)block - sizeof(bytes), &bytes, sizeof(bytes));
	return (void *)block;
}

void *
memalign(size_t alignment, size_t bytes)
{
	return cut(alignment, bytes);
}

void *
aligned_alloc(size_t alignment, size_t bytes)
{
	return cut(alignment, bytes);
}

int
posix_memalign(void **block_ret, size_t alignment, size_t bytes)
{
	void *block = cut(alignment, bytes);

	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}

void *
malloc(size_t bytes)
{
	return cut(ALIGNMENT, bytes);
}

void *
calloc(size_t count, size_t bytes)
{
	size_t whole;

	return __builtin_mul_overflow(count, bytes, &whole) ? NULL : cut(ALIGNMENT, whole);
}

static size_t
bytes_of(const void *block)
{
	size_t bytes = 0;

	if (block)
		memcpy(&bytes, (const char *)block - sizeof(bytes), sizeof(bytes));
	return bytes;
}

size_t
malloc_usable_size(void *block)
{
	return bytes_of(block);
}

void *
realloc(void *block, size_t bytes)
{
	size_t old = bytes_of(block);
	void *moved = cut(ALIGNMENT, bytes);

	if (moved && block)
		memcpy(moved, block, old < bytes ? old : bytes);
	return moved;
}

void
free(void *block)
{
	(void)block;
}
