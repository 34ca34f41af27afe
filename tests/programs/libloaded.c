/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded and unloaded by libstorm.c, in many copies, by libloader.c and by libunloading.c: allocates
 * through slots of every kind, and counts its unloads by other threads than the one that closes it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64

#if __has_attribute(noplt)
#	define NO_PLT __attribute__((noplt))
#else
#	define NO_PLT /* clang: only for a whole file */
#endif
extern void *plt_less_calloc(size_t count, size_t size) __asm__("calloc") NO_PLT;

static void *(*volatile in_data)(size_t size) = malloc;
static void (*volatile free_in_data)(void *block) = free;

pthread_t loaded_closer;
int *loaded_elsewhere; /* NULL: not counted */
void (*volatile *loaded_free)(void *block) = &free_in_data;
int loaded_work(void);
void *(*loaded_malloc(void))(size_t size);

static void *
allocate(unsigned i, size_t size)
{
	switch (i % 4) {
	case 0:
		return malloc(size);
	case 1:
		return plt_less_calloc(1, size);
	case 2:
		return in_data(size);
	default:
		return realloc(NULL, size);
	}
}

static int
is_filled(const unsigned char *block, unsigned i)
{
	return block[0] == (unsigned char)i && block[15 + i] == (unsigned char)i;
}

/* What the slot in the data holds. */
void *(*loaded_malloc(void))(size_t size)
{
	return in_data;
}

/* Whether all blocks keep their contents. */
int
loaded_work(void)
{
	unsigned char *blocks[BLOCKS];
	int is_right = 1;

	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = allocate(i, 16 + i);
		memset(blocks[i], (int)i, 16 + i);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[i] = realloc(blocks[i], 4096 + i);
		is_right &= is_filled(blocks[i], i);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return is_right;
}

__attribute__((destructor)) static void
unload(void)
{
	if (loaded_elsewhere && !pthread_equal(pthread_self(), loaded_closer))
		++*loaded_elsewhere;
}
