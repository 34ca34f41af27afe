/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function per size for malloc, one per entry point of the allocator, and pairs that differ
 * only by name.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "examples/mixed/sites.h"

#define REALLOC_FIRST 1024
#define REALLOC_LAST 65536
/* 1 + 2 + 4 + ... + 64 KiB: realloc() allocates the whole block each time. */
#define REALLOC_TOTAL (2 * REALLOC_LAST - REALLOC_FIRST)
#define REALLOC_CALLS 7

#define MALLOC_SITE(size)                                     \
	static MIXED_NOINLINE void *mixed_malloc_##size(void) \
	{                                                     \
		void *block = malloc(size);                   \
		MIXED_KEEP(block);                            \
		return block;                                 \
	}

MALLOC_SITE(16)
MALLOC_SITE(32)
MALLOC_SITE(64)
MALLOC_SITE(128)
MALLOC_SITE(200)
MALLOC_SITE(1024)
MALLOC_SITE(1400)
MALLOC_SITE(2048)
MALLOC_SITE(4096)
MALLOC_SITE(8192)
MALLOC_SITE(65536)
MALLOC_SITE(98304)
MALLOC_SITE(131072)
MALLOC_SITE(262144)
MALLOC_SITE(300000)
MALLOC_SITE(524288)
MALLOC_SITE(1048576)
MALLOC_SITE(4194304)

static MIXED_NOINLINE void *
mixed_twin_left(void)
{
	void *block = malloc(1024);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_twin_right(void)
{
	void *block = malloc(1024);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_calloc_4096(void)
{
	void *block = calloc(64, 64);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_reallocarray_4096(void)
{
	void *block = reallocarray(NULL, 64, 64);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_realloc_growth(void)
{
	void *block = NULL;

	for (size_t size = REALLOC_FIRST; size <= REALLOC_LAST; size *= 2) {
		void *grown = realloc(block, size);

		if (!grown)
			break;
		block = grown;
		MIXED_KEEP(block);
	}
	return block;
}

static MIXED_NOINLINE void *
mixed_posix_memalign_4096(void)
{
	void *block;

	if (posix_memalign(&block, 256, 4096) != 0)
		return NULL;
	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_aligned_alloc_4096(void)
{
	void *block = aligned_alloc(4096, 4096);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_memalign_4096(void)
{
	void *block = memalign(64, 4096);

	MIXED_KEEP(block);
	return block;
}

/* The block is allocated inside libc, one frame further down. */
static MIXED_NOINLINE void *
mixed_strdup_200(void)
{
	static char text[200];
	void *block;

	memset(text, 'x', sizeof(text) - 1);
	block = strdup(text);
	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
recurse(unsigned levels)
{
	void *block = levels > 0 ? recurse(levels - 1) : malloc(4096);

	MIXED_KEEP(block);
	return block;
}

static MIXED_NOINLINE void *
mixed_deep(void)
{
	void *block = recurse(400);

	MIXED_KEEP(block);
	return block;
}

/* clang-format off */
#define MALLOC_ROW(size)                                                  \
	{                                                                 \
		"mixed_malloc_" #size, size, 1, mixed_malloc_##size, free \
	}
const struct mixed_site mixed_sites[] = {
	MALLOC_ROW(16),
	MALLOC_ROW(32),
	MALLOC_ROW(64),
	MALLOC_ROW(128),
	MALLOC_ROW(200),
	MALLOC_ROW(1024),
	MALLOC_ROW(1400),
	MALLOC_ROW(2048),
	MALLOC_ROW(4096),
	MALLOC_ROW(8192),
	MALLOC_ROW(65536),
	MALLOC_ROW(98304),
	MALLOC_ROW(131072),
	MALLOC_ROW(262144),
	MALLOC_ROW(300000),
	MALLOC_ROW(524288),
	MALLOC_ROW(1048576),
	MALLOC_ROW(4194304),
	{"mixed_twin_left", 1024, 1, mixed_twin_left, free},
	{"mixed_twin_right", 1024, 1, mixed_twin_right, free},
	{"mixed_calloc_4096", 4096, 1, mixed_calloc_4096, free},
	{"mixed_reallocarray_4096", 4096, 1, mixed_reallocarray_4096, free},
	{"mixed_realloc_growth", REALLOC_TOTAL, REALLOC_CALLS, mixed_realloc_growth, free},
	{"mixed_posix_memalign_4096", 4096, 1, mixed_posix_memalign_4096, free},
	{"mixed_aligned_alloc_4096", 4096, 1, mixed_aligned_alloc_4096, free},
	{"mixed_memalign_4096", 4096, 1, mixed_memalign_4096, free},
	{"mixed_new_4096", 4096, 1, mixed_new_4096, mixed_delete},
	{"mixed_strdup_200", 200, 1, mixed_strdup_200, free},
	{"mixed_deep", 4096, 1, mixed_deep, free},
	{NULL, 0, 0, NULL, NULL},
};
