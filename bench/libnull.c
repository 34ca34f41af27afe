/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The null interposer: each allocation function resolves the next one and calls it.  This is
 * the base cost of any preloaded library; the remainder is the library's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Serves allocations made by dlsym itself. */
static char arena[65536];
static size_t arena_used;

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);

#define EXPORT __attribute__((visibility("default")))
#define RESOLVE(name) (next_##name = (__typeof__(next_##name))dlsym(RTLD_NEXT, #name))

static int
is_resolved(void)
{
	static int state;

	if (state == 2)
		return 1;
	if (state == 1)
		return 0;
	state = 1;
	RESOLVE(free);
	RESOLVE(realloc);
	RESOLVE(calloc);
	RESOLVE(posix_memalign);
	RESOLVE(aligned_alloc);
	RESOLVE(memalign);
	RESOLVE(malloc);
	state = 2;
	return 1;
}

static void *
from_arena(size_t size)
{
	char *block = arena + arena_used;

	arena_used += (size + 15) & ~(size_t)15;
	return arena_used <= sizeof(arena) ? block : NULL;
}

static int
is_from_arena(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena < sizeof(arena);
}

EXPORT void *
malloc(size_t size)
{
	if (__builtin_expect(!next_malloc, 0) && !is_resolved())
		return from_arena(size);
	return next_malloc(size);
}

EXPORT void
free(void *block)
{
	if (__builtin_expect(is_from_arena(block), 0))
		return;
	if (__builtin_expect(!next_free, 0) && !is_resolved())
		return;
	next_free(block);
}

EXPORT void *
calloc(size_t count, size_t size)
{
	if (__builtin_expect(!next_malloc, 0) && !is_resolved())
		return from_arena(count * size);
	return next_calloc(count, size);
}

EXPORT void *
realloc(void *block, size_t size)
{
	if (__builtin_expect(is_from_arena(block), 0))
		return memcpy(malloc(size), block, size);
	if (__builtin_expect(!next_malloc, 0) && !is_resolved())
		return from_arena(size);
	return next_realloc(block, size);
}

EXPORT int
posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	return is_resolved() ? next_posix_memalign(block_ret, alignment, size) : ENOMEM;
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
	return is_resolved() ? next_aligned_alloc(alignment, size) : NULL;
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
	return is_resolved() ? next_memalign(alignment, size) : NULL;
}
