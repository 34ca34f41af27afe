/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_death WAY FILE BLOCKS: four threads allocate and free until together they have
 * completed BLOCKS allocations; then the process dies by WAY (kill, segv, abort, trap, _exit,
 * exit) while they continue.  Each thread counts its completed allocations in FILE, a shared
 * mapping: allocations counted there were recorded before.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4

/* One cache line each. */
struct counter {
	uint64_t completed;
	char padding[56];
};

static struct counter *counters;

static __attribute__((noinline)) void *
doomed_site(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

static void *
work(void *argument)
{
	struct counter *counter = argument;

	for (uint64_t i = 0;; i++) {
		void *block = doomed_site(16 + i % 500);

		__atomic_store_n(&counter->completed, i + 1, __ATOMIC_RELEASE);
		free(block);
	}
	return NULL;
}

static uint64_t
completed(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += __atomic_load_n(&counters[i].completed, __ATOMIC_ACQUIRE);
	return sum;
}

static void
die(const char *way)
{
	if (!strcmp(way, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(way, "segv"))
		raise(SIGSEGV);
	else if (!strcmp(way, "abort"))
		abort();
	else if (!strcmp(way, "trap"))
		__builtin_trap();
	else if (!strcmp(way, "_exit"))
		_exit(7);
	else if (!strcmp(way, "exit"))
		exit(7);
	_exit(99);
}

static struct counter *
map_counters(const char *path)
{
	int descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	void *mapping;

	if (descriptor < 0 || ftruncate(descriptor, THREADS * sizeof(struct counter)) != 0)
		_exit(98);
	mapping = mmap(NULL, THREADS * sizeof(struct counter), PROT_READ | PROT_WRITE,
		MAP_SHARED, descriptor, 0);
	if (mapping == MAP_FAILED)
		_exit(98);
	close(descriptor);
	return mapping;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4)
		return 98;
	counters = map_counters(argv[2]);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, work, &counters[i]) != 0)
			return 98;
	}
	while (completed() < strtoull(argv[3], NULL, 10))
		usleep(1000);
	die(argv[1]);
}
