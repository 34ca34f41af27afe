/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: malloc_pairs BYTES PAIRS hot|cold
 *
 * Makes PAIRS pairs of malloc and free, of BYTES bytes.  hot: a block is freed at once.  cold: it
 * replaces a random one of the blocks that make up 256 MiB, so that the memory read by free is no
 * longer in the caches.  Waits for a line on stdin once everything is set up, and prints nanoseconds of
 * CPU time per pair.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLD_BYTES ((size_t)256 << 20)
/* Minimum size of a block: glibc's smallest chunk. */
#define SMALLEST_BYTES 32

static size_t block_bytes;
static long pairs;
static size_t slots; /* 0 = hot */
static uint64_t random_state = 0x9e3779b97f4a7c15U;

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* xorshift64* (Marsaglia 2003, Vigna 2016): cheap compared to a pair. */
static uint64_t
next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dU;
}

static void
run_hot(void)
{
	for (long i = 0; i < pairs; i++) {
		char *volatile block = malloc(block_bytes);

		*block = 1;
		free(block);
	}
}

static void
run_cold(char **blocks)
{
	for (long i = 0; i < pairs; i++) {
		size_t slot = next_random() % slots;

		free(blocks[slot]);
		blocks[slot] = malloc(block_bytes);
		*blocks[slot] = 1;
	}
}

static char **
fill(void)
{
	char **blocks = calloc(slots, sizeof(*blocks));

	for (size_t i = 0; i < slots; i++) {
		blocks[i] = malloc(block_bytes);
		*blocks[i] = 1;
	}
	return blocks;
}

/* In a thread of its own, so that glibc's malloc takes its locks. */
static void *
work(void *unused)
{
	char **blocks = slots ? fill() : NULL;
	char line[16];
	double begin;

	(void)unused;
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(2);
	begin = cpu_ns();
	if (blocks)
		run_cold(blocks);
	else
		run_hot();
	printf("ns %.3f\n", (cpu_ns() - begin) / (double)pairs);
	/*
	 * Cold blocks are not freed: the process ends here, and freeing them would take longer
	 * than the run.
	 */
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	block_bytes = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	pairs = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	if (block_bytes < 1 || pairs < 1) {
		fprintf(stderr, "usage: malloc_pairs BYTES PAIRS hot|cold\n");
		return 2;
	}
	if (strcmp(argv[3], "cold") == 0)
		slots = COLD_BYTES /
			(block_bytes > SMALLEST_BYTES ? block_bytes : SMALLEST_BYTES);
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}
