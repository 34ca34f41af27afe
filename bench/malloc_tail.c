/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: malloc_tail THREADS PAIRS
 *
 * THREADS threads make PAIRS pairs of malloc and free each, of 16 bytes to 4 KiB.  Prints the elapsed
 * nanoseconds of single calls, of both kinds together: 50 %, 99 %, 99.9 %, 99.99 % and the maximum.
 * Under a throttled cgroup the maximum includes the time without a processor.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64
#define KEPT 256

static size_t pairs;
static uint32_t *times; /* ns of each call, THREADS * PAIRS * 2 */

static uint64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *
work(void *data)
{
	uint32_t *time = data;
	void *kept[KEPT] = {0};

	for (size_t i = 0; i < pairs; i++) {
		uint64_t start = now();

		free(kept[i % KEPT]);
		uint64_t middle = now();
		kept[i % KEPT] = malloc((size_t)16 << i % 9);
		__asm__ volatile("" : : "r"(kept) : "memory");
		*time++ = (uint32_t)(middle - start);
		*time++ = (uint32_t)(now() - middle);
	}
	for (size_t i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

static int
compare(const void *one, const void *other)
{
	uint32_t first = *(const uint32_t *)one, second = *(const uint32_t *)other;

	return (first > second) - (first < second);
}

int
main(int count, char **arguments)
{
	size_t threads = count == 3 ? strtoul(arguments[1], NULL, 10) : 0;
	pthread_t handles[THREADS_MAX];

	if (!threads || threads > THREADS_MAX)
		return 2;
	pairs = strtoul(arguments[2], NULL, 10);
	size_t calls = threads * pairs * 2;
	times = calloc(calls, sizeof(*times));
	if (!times)
		return 1;
	for (size_t i = 0; i < calls; i++)
		times[i] = 1; /* touched before the measurement */
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&handles[i], NULL, work, &times[i * pairs * 2]))
			return 1;
	for (size_t i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	qsort(times, calls, sizeof(*times), compare);
	printf("%u %u %u %u %u\n", times[calls / 2], times[calls / 100 * 99],
		times[calls / 1000 * 999], times[calls / 10000 * 9999], times[calls - 1]);
	return 0;
}
