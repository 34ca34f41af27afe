/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_growth leak|clean: starts 200 threads in four seconds.  They never end; the clean twin
 * joins each before it starts the next one.
 */
#include "tests/leaks/truth.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define STEPS 200
#define STEP_MS 20

static void *
wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void *
return_at_once(void *unused)
{
	return unused;
}

static NOINLINE int
grow(pthread_t *thread, void *(*work)(void *))
{
	int error = pthread_create(thread, NULL, work, NULL);

	KEEP(error);
	return error;
}

int
main(int count, char **arguments)
{
	int is_leak = count > 1 && !strcmp(arguments[1], "leak");
	struct truth_pace pace;
	pthread_t thread;

	truth_step(&pace, 0, STEPS);
	for (int i = 0; i < STEPS; i++) {
		if (grow(&thread, is_leak ? wait_for_ever : return_at_once))
			return 1;
		if (!is_leak)
			pthread_join(thread, NULL);
		truth_sleep(STEP_MS);
		truth_step(&pace, i + 1, STEPS);
	}
	if (is_leak)
		truth_print_heap("leak", "threads", "grow", 0, STEPS);
	truth_tell_pace(&pace);
	return 0;
}
