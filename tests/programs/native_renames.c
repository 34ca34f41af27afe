/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread alternates between two names, and then has one that another thread gives it: 1,000
 * blocks under each.  It pauses after each change, longer than a sample regards a name as
 * recent.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS 10
#define BLOCKS 100
#define REST_US 1000

static pthread_barrier_t barrier;

static __attribute__((noinline)) void *
site(void)
{
	void *block = malloc(100);

	__asm__ volatile("" : "+r"(block)::"memory");
	return block;
}

static void
allocate(int blocks)
{
	usleep(REST_US);
	for (int i = 0; i < blocks; i++)
		free(site());
}

static void *
work(void *unused)
{
	for (int i = 0; i < 2 * TURNS; i++) {
		pthread_setname_np(pthread_self(), i % 2 ? "odd" : "even");
		allocate(BLOCKS);
	}
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	allocate(TURNS * BLOCKS);
	return unused;
}

int
main(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	pthread_barrier_wait(&barrier);
	pthread_setname_np(thread, "by another");
	pthread_barrier_wait(&barrier);
	return pthread_join(thread, NULL);
}
