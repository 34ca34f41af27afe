/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_thread_ends NUMBER unjoined: starts that many threads, which end and are not joined.
 * native_thread_ends NUMBER: four threads start as many in all, which end in each of the ways that release them: joined, by each function; detached from the start, by themselves, by the one
 * that started them, at once or when they have ended.  Status 1 if a call does not return what
 * it has to.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STARTERS 4

enum way { JOIN, TRY, TIMED, CLOCK, FROM_START, BY_ITSELF, AT_ONCE, LATE, WAYS };

static int failed;

static void
expect(int value, int expected)
{
	if (value != expected)
		__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
}

static void *
work(void *way)
{
	if ((uintptr_t)way == BY_ITSELF)
		expect(pthread_detach(pthread_self()), 0);
	return way;
}

static void
release(pthread_t thread, uintptr_t way)
{
	struct timespec end = {.tv_sec = time(NULL) + 60};
	void *result = (void *)way;

	if (way == JOIN)
		expect(pthread_join(thread, &result), 0);
	else if (way == TIMED)
		expect(pthread_timedjoin_np(thread, &result, &end), 0);
	else if (way == CLOCK)
		expect(pthread_clockjoin_np(thread, &result, CLOCK_REALTIME, &end), 0);
	else if (way == LATE)
		usleep(200);
	if (way == TRY) {
		int error;

		while ((error = pthread_tryjoin_np(thread, &result)) == EBUSY)
			usleep(10);
		expect(error, 0);
	}
	if (way == AT_ONCE || way == LATE)
		expect(pthread_detach(thread), 0);
	expect(result == (void *)way, 1);
}

static void *
start(void *number)
{
	pthread_attr_t detached;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (uintptr_t i = 0; i < (uintptr_t)number; i++) {
		uintptr_t way = i % WAYS;
		pthread_t thread;
		int error;

		while ((error = pthread_create(&thread, way == FROM_START ? &detached : NULL,
				work, (void *)way)) == EAGAIN)
			usleep(1000);
		expect(error, 0);
		release(thread, way);
	}
	pthread_attr_destroy(&detached);
	return NULL;
}

static void
leave_unjoined(uintptr_t number)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (uintptr_t i = 0; i < number; i++) {
		pthread_t thread;
		int error;

		while ((error = pthread_create(&thread, &small, work, NULL)) == EAGAIN)
			usleep(1000);
		expect(error, 0);
	}
	usleep(500000);
}

int
main(int count, char **arguments)
{
	uintptr_t number = count > 1 ? strtoul(arguments[1], NULL, 10) : 0;
	pthread_t starters[STARTERS];

	if (count > 2) {
		leave_unjoined(number);
		return failed;
	}
	number /= STARTERS;
	for (int i = 0; i < STARTERS; i++)
		expect(pthread_create(&starters[i], NULL, start, (void *)number), 0);
	for (int i = 0; i < STARTERS; i++)
		expect(pthread_join(starters[i], NULL), 0);
	/* Those detached may still run. */
	usleep(500000);
	return failed;
}
