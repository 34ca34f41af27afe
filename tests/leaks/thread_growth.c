/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_growth leak|unjoined|detached|clean: starts 200 threads in four seconds.  They never end,
 * or they end and are not joined; the clean twins detach each, or join it before they start the next
 * one.
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
	const char *kind = count > 1 ? arguments[1] : "";
	int is_leak = !strcmp(kind, "leak");
	int is_unjoined = !strcmp(kind, "unjoined");
	int is_detached = !strcmp(kind, "detached");
	struct truth_pace pace;
	pthread_t thread;

	truth_step(&pace, 0, STEPS);
	for (int i = 0; i < STEPS; i++) {
		if (grow(&thread, is_leak ? wait_for_ever : return_at_once))
			return 1;
		if (is_detached && i % 2)
			pthread_detach(thread);
		else if (!is_leak && !is_unjoined && !is_detached)
			pthread_join(thread, NULL);
		truth_sleep(STEP_MS);
		/* It has ended by now. */
		if (is_detached && !(i % 2))
			pthread_detach(thread);
		truth_step(&pace, i + 1, STEPS);
	}
	if (is_leak || is_unjoined)
		truth_print_heap("leak", "threads", "grow", 0, STEPS);
	truth_tell_pace(&pace);
	return 0;
}
