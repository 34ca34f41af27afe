/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: sample_cost FRAMES COUNT
 *
 * Allocates and frees COUNT blocks below FRAMES frames and prints nanoseconds of CPU time per
 * pair.  bench/sample-cost runs it with every allocation sampled and with none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) double
allocate(long count)
{
	double start = cpu_ns();

	for (long i = 0; i < count; i++) {
		void *volatile block = malloc(64);

		free(block);
	}
	return (cpu_ns() - start) / (double)count;
}

static __attribute__((noinline)) double
descend(long frames, long count)
{
	double result = frames > 0 ? descend(frames - 1, count) : allocate(count);

	__asm__ volatile("" : "+m"(result)); /* prevents a tail call */
	return result;
}

int
main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: sample_cost FRAMES COUNT\n");
		return 2;
	}
	/* main, its two callers and allocate() count as well. */
	long frames = strtol(argv[1], NULL, 10) - 5;
	long count = strtol(argv[2], NULL, 10);

	descend(frames, 1000);
	printf("%.1f\n", descend(frames, count));
	return 0;
}
