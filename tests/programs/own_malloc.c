/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_malloc: a program that defines the malloc functions itself and takes blocks from one
 * large array without reusing them.  If its free gets a block from elsewhere, it exits with
 * status 3.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES (64 << 20)
#define HEADER 16

static _Alignas(4096) char arena[ARENA_BYTES];
static size_t used;

static void *
take(size_t alignment, size_t size)
{
	size_t at = __atomic_load_n(&used, __ATOMIC_RELAXED);
	size_t start;

	do {
		start = (at + HEADER + alignment - 1) & ~(alignment - 1);
		if (size > ARENA_BYTES || start + size > ARENA_BYTES) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(
		&used, &at, start + size, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(&arena[start - HEADER], &size, sizeof(size));
	return &arena[start];
}

static size_t
bytes_of(const void *block)
{
	size_t size;

	/* Hides from the compiler that this is malloc, and that data precedes the block. */
	__asm__ volatile("" : "+r"(block));
	if ((uintptr_t)block - (uintptr_t)arena >= ARENA_BYTES)
		_exit(3);
	memcpy(&size, (const char *)block - HEADER, sizeof(size));
	return size;
}

void *
malloc(size_t size)
{
	return take(16, size);
}

void
free(void *block)
{
	if (block)
		bytes_of(block);
}

void *
calloc(size_t count, size_t size)
{
	return take(16, count * size);
}

void *
realloc(void *block, size_t size)
{
	void *moved = take(16, size);

	if (moved && block)
		memcpy(moved, block, bytes_of(block) < size ? bytes_of(block) : size);
	return moved;
}

int
posix_memalign(void **block_ret, size_t alignment, size_t size)
{
	*block_ret = take(alignment, size);
	return *block_ret ? 0 : ENOMEM;
}

void *
aligned_alloc(size_t alignment, size_t size)
{
	return take(alignment, size);
}

/* libc's allocations for a program use its functions too. */
int
main(void)
{
	char *copy = strdup("mine");
	char *text = NULL;
	void *block = NULL;

	for (int i = 1; i < 2000; i++)
		free(realloc(malloc((size_t)i), 2 * (size_t)i));
	if (posix_memalign(&block, 256, 1000) ||
		asprintf(&text, "%s: %zu", copy,
			reallocarray(NULL, 10, 10) ? bytes_of(copy) : 0) < 0)
		return 1;
	puts(text);
	free(block);
	free(text);
	free(copy);
	return 0;
}
