/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that implements each function with another one, called by its public name, so
 * that an interposer sees both calls:
 *
 *   calloc, realloc -> malloc
 *   posix_memalign, aligned_alloc, valloc, pvalloc -> memalign -> malloc, of a larger block
 *
 * Blocks are cut from one mapping and never reused.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/programs/arena.h"

#define ALIGNMENT 16
#define PAGE 4096

/* Called by name, even if the compiler treats it as a builtin. */
#define BY_NAME __attribute__((noinline))

BY_NAME void *malloc(size_t bytes);
BY_NAME void *memalign(size_t alignment, size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **block_ret, size_t alignment, size_t bytes);
void *valloc(size_t bytes);
void *pvalloc(size_t bytes);
void free(void *block);
size_t malloc_usable_size(void *block);

/* The end of a block is stored before it. */
static void *
mark(uintptr_t block, uintptr_t end)
{
	memcpy((char *)block - sizeof(end), &end, sizeof(end));
	return (void *)block;
}

static uintptr_t
end_of(const void *block)
{
	uintptr_t end;

	/* Hides from the compiler that this is malloc, and that data precedes the block. */
	__asm__ volatile("" : "+r"(block));
	memcpy(&end, (const char *)block - sizeof(end), sizeof(end));
	return end;
}

void *
malloc(size_t bytes)
{
	size_t whole;

	if (bytes > ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	whole = ALIGNMENT + ((bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
	uintptr_t start = get_arena() + __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	if (start + whole > get_arena() + ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	return mark(start + ALIGNMENT, start + whole);
}

void *
memalign(size_t alignment, size_t bytes)
{
	void *block = bytes > ARENA_BYTES ? NULL : malloc(bytes + alignment);

	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	return mark(((uintptr_t)block + alignment - 1) & ~(uintptr_t)(alignment - 1),
		end_of(block));
}

void *
aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int
posix_memalign(void **block_ret, size_t alignment, size_t bytes)
{
	void *block = memalign(alignment, bytes);

	if (!block)
		return ENOMEM;
	*block_ret = block;
	return 0;
}

void *
valloc(size_t bytes)
{
	return memalign(PAGE, bytes);
}

void *
pvalloc(size_t bytes)
{
	return memalign(PAGE, (bytes + PAGE - 1) & ~(size_t)(PAGE - 1));
}

void *
calloc(size_t count, size_t bytes)
{
	size_t whole;

	/* New memory of the mapping is already zero. */
	return __builtin_mul_overflow(count, bytes, &whole) ? NULL : malloc(whole);
}

size_t
malloc_usable_size(void *block)
{
	return block ? end_of(block) - (uintptr_t)block : 0;
}

void *
realloc(void *block, size_t bytes)
{
	size_t old = malloc_usable_size(block);
	void *moved = malloc(bytes);

	if (moved && block) {
		memcpy(moved, block, old < bytes ? old : bytes);
		free(block);
	}
	return moved;
}

void
free(void *block)
{
	(void)block;
}
