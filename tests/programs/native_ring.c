/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_ring BLOCKS WAY: allocates BLOCKS blocks at one site, most of which are freed at once, one
 * in CACHED only after CACHED_FOR others, and a block at another site for each KEEP_EVERY of them,
 * which stays, unless WAY is steady.  Prints the bytes of each site, and ends by WAY: exit or kill.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_EVERY 64
#define KEPT_BYTES 512
#define CACHED 128
#define CACHED_FOR 1000

static void *cache[CACHED_FOR];

static __attribute__((noinline)) void *
dropped_site(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

static __attribute__((noinline)) void *
kept_site(void)
{
	void *block = malloc(KEPT_BYTES);

	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

int
main(int count, char **words)
{
	long blocks = count > 1 ? atol(words[1]) : 0;
	const char *way = count > 2 ? words[2] : "exit";
	int leaks = strcmp(way, "steady") != 0;
	uint64_t dropped = 0, kept = 0, cached = 0;

	for (long i = 0; i < blocks; i++) {
		size_t size = 64 + (size_t)(i * 7919 % 512);
		void *block = dropped_site(size);

		dropped += size;
		if (i % CACHED == 0) {
			free(cache[cached % CACHED_FOR]);
			cache[cached++ % CACHED_FOR] = block;
		} else {
			free(block);
		}
		if (leaks && i % KEEP_EVERY == 0) {
			kept_site();
			kept += KEPT_BYTES;
		}
	}
	printf("%llu %llu\n", (unsigned long long)dropped, (unsigned long long)kept);
	fflush(stdout);
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	return 0;
}
