/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that allocates on request, and when it is loaded and unloaded.  Loaded many times,
 * under different names.
 */
#include <stdlib.h>
#include <string.h>

int visitor_site(int blocks);

static void *kept;

static void *
allocate(size_t bytes)
{
	void *block = malloc(bytes);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

__attribute__((constructor)) static void
construct(void)
{
	kept = allocate(100);
}

__attribute__((destructor)) static void
destruct(void)
{
	free(kept);
	free(allocate(100));
}

/* Returns the number of blocks that kept their contents. */
__attribute__((noinline)) int
visitor_site(int blocks)
{
	int good = 0;

	for (int i = 0; i < blocks; i++) {
		char *block = allocate(100);

		memset(block, i, 100);
		good += block[99] == (char)i;
		free(block);
	}
	return good;
}
