/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills memory of one kind, named by the first argument, and prints libc's statistics:
 *
 *   fragments BYTES   small blocks, of which every hundredth is kept
 *   halves BYTES      small blocks, of which the first half is freed
 *   runs BYTES        small blocks, freed and kept in runs of 1 to 16 MiB
 *   sparse BYTES      small blocks, of which a random quarter is kept
 *   blocks BYTES      as halves, in blocks of 64 bytes
 *   live BYTES        small blocks, all kept and touched
 *   untouched BYTES   large blocks of which a quarter is touched
 *   file PATH         the file mapped and read
 *   neighbours BYTES  blocks and mappings of 1 MiB alternately, so that they are adjacent
 *   mappings BYTES    2,000 mappings, touched; every other one is then made read-only
 *   arenas BYTES      as fragments, by eight threads in turn that all stay
 *   files BYTES       files of 10 MB, one after another in 10 s, mapped and hardly touched
 *   peak BYTES        mappings of 1/20 of it each, for two seconds, then none
 *
 * A third argument, "trim", calls malloc_trim(0) at the end; "hold SECONDS" sleeps after the output
 * and then kills the process.
 *
 * Prints one line of JSON: "live" and "heaps" from mallinfo2(), "resident" from the kernel, and
 * "trimmed", the reduction of it by malloc_trim(0).
 */
#include <fcntl.h>
#include <pthread.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/programs/choose.h"

#define SMALL 1000u
#define TINY 64u
#define LARGE (192u << 10)
#define PAGE 4096u
#define NEIGHBOUR (1u << 20)
#define THREADS 8u
#define MAPPINGS 2000u
#define PEAK_STEPS 20u
#define FILE_BYTES (10u << 20)

static size_t
resident(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*u %zu", &pages) != 1)
		exit(1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
touch(char *block, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PAGE)
		((volatile char *)block)[at] = 1;
}

/* Not inlined, because the report shows its name. */
__attribute__((noinline)) static char *
make_block(size_t bytes, size_t touched)
{
	char *block = malloc(bytes);

	if (!block)
		exit(1);
	touch(block, touched);
	return block;
}

static char **
make_blocks(size_t total, size_t each, size_t touched)
{
	size_t count = total / each;
	char **blocks = calloc(count, sizeof(*blocks));

	for (size_t i = 0; blocks && i < count; i++)
		blocks[i] = make_block(each, touched);
	return blocks;
}

/* Whether a block is kept; called for each of `count` blocks in turn. */
typedef bool keeps(size_t index, size_t count);

static bool
keeps_one_in_hundred(size_t index, size_t count)
{
	(void)count;
	return index % 100 == 0;
}

static bool
keeps_one_in_four(size_t index, size_t count)
{
	(void)index, (void)count;
	return choose(4) == 0;
}

static bool
keeps_second_half(size_t index, size_t count)
{
	return index >= count / 2;
}

static bool
keeps_runs(size_t index, size_t count)
{
	static size_t end;
	static bool stays;

	(void)count;
	if (index == end) {
		end += (1 + choose(16)) * (1 << 20) / SMALL;
		stays = !stays;
	}
	return stays;
}

static char **
make_and_free(size_t total, size_t each, keeps *keep)
{
	char **blocks = make_blocks(total, each, each);

	for (size_t i = 0; blocks && i < total / each; i++)
		if (!keep(i, total / each))
			free(blocks[i]);
	return blocks;
}

static char **
make_fragments(size_t total)
{
	return make_and_free(total, SMALL, keeps_one_in_hundred);
}

/* A share of the work, after which the thread keeps its arena until the end. */
struct share {
	size_t bytes;
	char **blocks;
	pthread_barrier_t done;
};

static void *
fill_arena(void *data)
{
	struct share *share = data;

	share->blocks = make_fragments(share->bytes);
	pthread_barrier_wait(&share->done);
	for (;;)
		pause();
	return NULL;
}

static struct share *
make_arenas(size_t total)
{
	static struct share shares[THREADS];
	pthread_t thread;

	for (size_t i = 0; i < THREADS; i++) {
		shares[i].bytes = total / THREADS;
		if (pthread_barrier_init(&shares[i].done, NULL, 2) ||
			pthread_create(&thread, NULL, fill_arena, &shares[i]))
			exit(1);
		pthread_barrier_wait(&shares[i].done);
	}
	return shares;
}

static char *
map(size_t bytes)
{
	char *mapping = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapping == MAP_FAILED)
		exit(1);
	touch(mapping, bytes);
	return mapping;
}

/* Neighboring mappings differ in access, so that the kernel does not merge them. */
static char *
make_mappings(size_t total)
{
	size_t bytes = total / MAPPINGS / PAGE * PAGE;
	char *mapping = NULL;

	for (size_t i = 0; i < MAPPINGS; i++) {
		mapping = map(bytes);
		if (i % 2 && mprotect(mapping, bytes, PROT_READ))
			exit(1);
	}
	return mapping;
}

/* The kernel assigns addresses downwards, and merges similar mappings. */
static char **
make_neighbours(size_t total)
{
	size_t count = total / NEIGHBOUR / 2;
	char **blocks = calloc(count, sizeof(*blocks));

	for (size_t i = 0; blocks && i < count; i++) {
		map(NEIGHBOUR);
		blocks[i] = make_block(NEIGHBOUR - PAGE, NEIGHBOUR - PAGE);
	}
	return blocks;
}

static void *
make_peak(size_t total)
{
	char *blocks[PEAK_STEPS];
	size_t bytes = total / PEAK_STEPS;

	sleep(3);
	for (unsigned i = 0; i < PEAK_STEPS; i++) {
		blocks[i] = malloc(bytes);
		touch(blocks[i], bytes);
		usleep(100000);
	}
	sleep(2);
	for (unsigned i = 0; i < PEAK_STEPS; i++)
		free(blocks[i]);
	sleep(2);
	return malloc(1);
}

/* As a log of segments preallocates their indexes: one page of each is used. */
static void *
make_files(size_t total)
{
	size_t count = total / FILE_BYTES;
	char *memory = NULL;

	for (size_t i = 0; i < count; i++) {
		char name[] = "segment-XXXXXX";
		int descriptor = mkstemp(name);

		if (descriptor < 0 || unlink(name) || ftruncate(descriptor, FILE_BYTES))
			exit(1);
		memory = mmap(
			NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
		if (memory == MAP_FAILED)
			exit(1);
		close(descriptor);
		memory[0] = 1;
		usleep((useconds_t)(10000000 / count));
	}
	return memory;
}

static void *
read_file(const char *path)
{
	int descriptor = open(path, O_RDONLY);
	struct stat status;
	char *memory;
	char sum = 0;

	if (descriptor < 0 || fstat(descriptor, &status))
		exit(1);
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
	if (memory == MAP_FAILED)
		exit(1);
	for (off_t at = 0; at < status.st_size; at += PAGE)
		sum += ((volatile char *)memory)[at];
	return sum ? NULL : memory;
}

static size_t
trim(void)
{
	size_t before = resident();

	malloc_trim(0);
	size_t after = resident();
	return before > after ? before - after : 0;
}

static void
hold(unsigned seconds)
{
	fflush(stdout);
	sleep(seconds);
	raise(SIGKILL);
}

int
main(int argument_count, char **arguments)
{
	const char *what = argument_count > 2 ? arguments[1] : "";
	size_t total = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 0;
	void *volatile kept = NULL; /* until the process ends */
	size_t trimmed = 0;

	/* One touched byte must occupy one page, not 2 MiB. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (!strcmp(what, "fragments"))
		kept = make_fragments(total);
	else if (!strcmp(what, "halves"))
		kept = make_and_free(total, SMALL, keeps_second_half);
	else if (!strcmp(what, "runs"))
		kept = make_and_free(total, SMALL, keeps_runs);
	else if (!strcmp(what, "sparse"))
		kept = make_and_free(total, SMALL, keeps_one_in_four);
	else if (!strcmp(what, "blocks"))
		kept = make_and_free(total, TINY, keeps_second_half);
	else if (!strcmp(what, "live"))
		kept = make_blocks(total, SMALL, SMALL);
	else if (!strcmp(what, "untouched"))
		kept = make_blocks(total, LARGE, LARGE / 4);
	else if (!strcmp(what, "neighbours"))
		kept = make_neighbours(total);
	else if (!strcmp(what, "mappings"))
		kept = make_mappings(total);
	else if (!strcmp(what, "arenas"))
		kept = make_arenas(total);
	else if (!strcmp(what, "files"))
		kept = make_files(total);
	else if (!strcmp(what, "peak"))
		kept = make_peak(total);
	else if (!strcmp(what, "file"))
		kept = read_file(arguments[2]);
	else
		return 2;
	struct mallinfo2 info = mallinfo2();
	if (argument_count > 3 && !strcmp(arguments[3], "trim"))
		trimmed = trim();
	printf("{\"kept\": %d, \"live\": %zu, \"heaps\": %zu, \"resident\": %zu, "
	       "\"trimmed\": %zu}\n",
		kept != NULL, info.uordblks + info.hblkhd, info.arena, resident(), trimmed);
	if (argument_count > 4 && !strcmp(arguments[3], "hold"))
		hold((unsigned)atoi(arguments[4]));
	return 0;
}
