/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads allocate and free blocks of 200 KB for four seconds; each leaks 1,000 of them at
 * a separate call site.  They advance step by step together, even if the machine favors one.
 */
#include "tests/leaks/truth.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define LOST 1000
#define FREED_PER_LOST 8
#define BLOCK_BYTES 200000
#define STEP_MS 4

static pthread_barrier_t barrier;
static struct truth_pace pace;

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
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			truth_step(&pace, i + 1, LOST);
	}
	return unused;
}

int
main(void)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	truth_step(&pace, 0, LOST);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	truth_print("leak", "lose_block", (size_t)THREADS * LOST * BLOCK_BYTES, THREADS * LOST);
	truth_tell_pace(&pace);
	return 0;
}
