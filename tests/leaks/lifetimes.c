/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks with special lifetimes: freed by a different thread than the one that allocated them,
 * left by a thread that ends, allocated before recording pauses and freed during or after the
 * pause.  The log is named by the only argument.
 */
#include "tests/leaks/truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unify/shared/log_format.h"

#define BLOCKS 4000
#define BLOCK_BYTES 8000

static void *handed[BLOCKS];
static void *paused[BLOCKS];

static NOINLINE void *
handed_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	KEEP(block);
	return block;
}

static NOINLINE void *
orphaned_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	KEEP(block);
	return block;
}

static NOINLINE void *
paused_block(void)
{
	void *block = malloc(BLOCK_BYTES);

	KEEP(block);
	return block;
}

static void *
allocate(void *unused)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		handed[i] = handed_block();
		orphaned_block();
	}
	return unused;
}

static void
run_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, allocate, NULL) != 0)
		exit(1);
	pthread_join(thread, NULL);
}

static struct th_log_header *
map_log(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	void *header;

	header = mmap(NULL, TH_LOG_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return header == MAP_FAILED ? NULL : header;
}

/* A quarter is freed during the pause, a quarter after it, half stays. */
static bool
free_around_a_pause(const char *path)
{
	struct th_log_header *header = map_log(path);

	if (!header)
		return false;
	for (size_t i = 0; i < BLOCKS; i++)
		paused[i] = paused_block();
	__atomic_store_n(&header->paused, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < BLOCKS; i += 4)
		free(paused[i]);
	__atomic_store_n(&header->paused, 0, __ATOMIC_RELAXED);
	for (size_t i = 1; i < BLOCKS; i += 4)
		free(paused[i]);
	return true;
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	run_thread();
	/* A quarter stays. */
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % 4)
			free(handed[i]);
	}
	if (!free_around_a_pause(argv[1]))
		return 1;
	truth_print(NULL, "handed_block", (size_t)BLOCKS / 4 * BLOCK_BYTES, BLOCKS / 4);
	truth_print(NULL, "orphaned_block", (size_t)BLOCKS * BLOCK_BYTES, BLOCKS);
	truth_print(NULL, "paused_block", (size_t)BLOCKS / 2 * BLOCK_BYTES, BLOCKS / 2);
	return 0;
}
