/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_threads THREADS AT_ONCE BLOCKS: THREADS threads, AT_ONCE of them at a time, each of
 * which allocates BLOCKS blocks in work().  Prints the requested bytes on stdout, as one JSON
 * object.  With 0 BLOCKS it is the same program without the allocations.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AT_ONCE_MAX 64

static uint64_t blocks;

/* Sizes from 16 to 1192 bytes. */
static size_t
size_of(uint64_t block)
{
	return 16 + 24 * (block % 50);
}

static __attribute__((noinline)) void *
site(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

static void *
work(void *unused)
{
	(void)unused;
	for (uint64_t i = 0; i < blocks; i++) {
		void *block = site(size_of(i));

		if (!block)
			_exit(1);
		free(block);
	}
	return NULL;
}

static void
run_together(unsigned count)
{
	pthread_t threads[AT_ONCE_MAX];

	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			_exit(1);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int
main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned at_once = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	uint64_t bytes = 0;

	blocks = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	if (at_once > AT_ONCE_MAX)
		return 1;
	for (unsigned done = 0; done < threads; done += at_once)
		run_together(at_once < threads - done ? at_once : threads - done);
	for (uint64_t i = 0; i < blocks; i++)
		bytes += size_of(i);
	dprintf(STDOUT_FILENO,
		"{\"site\": \"site\", \"heap\": \"native\", \"objects\": %llu, "
		"\"bytes\": %llu}\n",
		(unsigned long long)(blocks * threads), (unsigned long long)(bytes * threads));
	return 0;
}
