/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: malloc_pairs THREADS BYTES PAIRS hot|cold [MIB]
 *
 * THREADS threads make PAIRS pairs of malloc and free each: of BYTES bytes or, with BYTES 0, of
 * 16 bytes to 64 KiB, each power of two equally often. hot: a block is freed at once. cold: it
 * replaces a random one of the blocks that make up MIB (256), so that the memory read by free
 * is no longer in the caches.  Waits for a line on stdin once everything is set up, and prints
 * nanoseconds of CPU time per pair.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 256
#define SMALLEST_SHIFT 4
#define SIZES 13 /* 2^4 .. 2^16 */
#define COLD_MIB 256
/* The mean of mixed sizes is 10 KB. */
#define MIXED_MEAN_BYTES 10082
/* Minimum size of a block: glibc's smallest chunk. */
#define SMALLEST_BYTES 32

struct worker {
	pthread_t thread;
	uint64_t random;
	double ns;
};

static size_t block_bytes;
static long pairs;
static size_t slots; /* per thread; 0 = hot */
static pthread_barrier_t ready;
static pthread_barrier_t start;

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* xorshift64* (Marsaglia 2003, Vigna 2016): cheap compared to a pair. */
static uint64_t
next_random(struct worker *worker)
{
	worker->random ^= worker->random >> 12;
	worker->random ^= worker->random << 25;
	worker->random ^= worker->random >> 27;
	return worker->random * 0x2545f4914f6cdd1dU;
}

static size_t
next_bytes(struct worker *worker)
{
	if (block_bytes)
		return block_bytes;
	return (size_t)1 << (SMALLEST_SHIFT + next_random(worker) % SIZES);
}

static void
run_hot(struct worker *worker)
{
	for (long i = 0; i < pairs; i++) {
		char *volatile block = malloc(next_bytes(worker));

		*block = 1;
		free(block);
	}
}

static void
run_cold(struct worker *worker, char **blocks)
{
	for (long i = 0; i < pairs; i++) {
		size_t slot = next_random(worker) % slots;

		free(blocks[slot]);
		blocks[slot] = malloc(next_bytes(worker));
		*blocks[slot] = 1;
	}
}

/* Number of blocks that make up one thread's share of the memory. */
static size_t
count_slots(size_t mib, unsigned threads)
{
	size_t mean = block_bytes ? block_bytes : MIXED_MEAN_BYTES;

	return (mib << 20) / (mean > SMALLEST_BYTES ? mean : SMALLEST_BYTES) / threads;
}

static char **
fill(struct worker *worker)
{
	char **blocks = calloc(slots, sizeof(*blocks));

	for (size_t i = 0; i < slots; i++) {
		blocks[i] = malloc(next_bytes(worker));
		*blocks[i] = 1;
	}
	return blocks;
}

static void *
work(void *argument)
{
	struct worker *worker = argument;
	char **blocks = slots ? fill(worker) : NULL;

	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&start);
	worker->ns = cpu_ns();
	if (blocks)
		run_cold(worker, blocks);
	else
		run_hot(worker);
	worker->ns = cpu_ns() - worker->ns;
	/*
	 * Cold blocks are not freed: the process ends here, and freeing them would take longer
	 * than the run.
	 */
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	char line[16];
	double ns = 0;

	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: malloc_pairs THREADS BYTES PAIRS hot|cold [MIB]\n");
		return 2;
	}
	unsigned threads = (unsigned)strtoul(argv[1], NULL, 10);
	block_bytes = strtoul(argv[2], NULL, 10);
	pairs = strtol(argv[3], NULL, 10);
	if (threads < 1 || threads > THREADS_MAX || pairs < 1)
		return 2;
	if (strcmp(argv[4], "cold") == 0)
		slots = count_slots(argc > 5 ? strtoul(argv[5], NULL, 10) : COLD_MIB, threads);
	pthread_barrier_init(&ready, NULL, threads + 1);
	pthread_barrier_init(&start, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		workers[i].random = 0x9e3779b97f4a7c15U * (i + 1);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	pthread_barrier_wait(&ready);
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 2;
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		ns += workers[i].ns;
	}
	printf("ns %.3f\n", ns / (double)pairs / threads);
	return 0;
}
