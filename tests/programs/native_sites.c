/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_sites VOLUME: allocates VOLUME bytes at each of nine sites, in blocks of 16 bytes to 4
 * MiB, the sites in turn, and frees every block at once.  Prints one JSON object per site with
 * its allocations.  With a VOLUME of 0 it is the same program without the allocations.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(S) S(16) S(40) S(200) S(1024) S(4096) S(16384) S(131072) S(1048576) S(4194304)
#define ROUNDS 64

struct site {
	const char *name;
	void *(*allocate)(void);
	size_t size;
	uint64_t objects;
};

/* The barrier keeps the compiler from omitting the block and from making a tail call. */
#define S(size)                                                  \
	static __attribute__((noinline)) void *site_##size(void) \
	{                                                        \
		void *block = malloc(size);                      \
		__asm__ volatile("" : "+r"(block)::"memory");    \
		return block;                                    \
	}
SITES(S)
#undef S

static struct site sites[] = {
#define S(size) {"site_" #size, site_##size, size, 0},
	SITES(S)
#undef S
};
#define SITE_COUNT (sizeof(sites) / sizeof(sites[0]))

/* Up to `bytes` in total, or the smallest number of blocks above it. */
static void
allocate_up_to(struct site *site, uint64_t bytes)
{
	while (site->objects * site->size < bytes) {
		void *block = site->allocate();

		if (!block)
			_exit(1);
		free(block);
		site->objects++;
	}
}

int
main(int argc, char **argv)
{
	uint64_t volume = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (size_t i = 0; i < SITE_COUNT; i++)
			allocate_up_to(&sites[i], volume * round / ROUNDS);
	}
	/* dprintf() makes the same allocations whatever it prints. */
	for (size_t i = 0; i < SITE_COUNT; i++) {
		dprintf(STDOUT_FILENO,
			"{\"site\": \"%s\", \"heap\": \"native\", \"bytes\": %llu, "
			"\"objects\": %llu, \"size\": %zu}\n",
			sites[i].name, (unsigned long long)(sites[i].objects * sites[i].size),
			(unsigned long long)sites[i].objects, sites[i].size);
	}
	return 0;
}
