/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads, over four seconds, allocate and free blocks of 200 KB; each loses 1,000 of them
 * at a place of its own.
 */
#include "tests/leaks/truth.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define LOST 1000
#define FREED_PER_LOST 8
#define BLOCK_BYTES 200000
#define STEP_MS 4

static NOINLINE void
lose_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	KEEP(block);
}

static NOINLINE void
use_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	KEEP(block);
	free(block);
}

static void *
work(void *unused)
{
	for (int i = 0; i < LOST; i++) {
		for (int k = 0; k < FREED_PER_LOST; k++)
			use_block();
		lose_block();
		truth_sleep(STEP_MS);
	}
	return unused;
}

int
main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_print("leak", "lose_block", (size_t)THREADS * LOST * BLOCK_BYTES, THREADS * LOST);
	return 0;
}
