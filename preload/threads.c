/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_create, interposed: counts threads by the stack that starts them.  libc maps the
 * stacks of threads for itself, and what a new thread allocates before its own code runs belongs
 * to the stack that started it.
 *
 * The new thread begins in run(), which tail-calls the program's function, so that stacks of
 * threads begin as without the library.
 */
#include "preload/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "preload/entry.h"
#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/sample/thread_starts.h"

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/*
 * Starts in progress: from the call until the new thread runs.  With more of them threads are
 * not counted.
 */
#define STARTS_MAX 512

struct start {
	void *(*routine)(void *);
	void *argument;
	struct th_tally_item item;
	unsigned char busy; /* atomic */
};

static struct start *starts; /* atomic; NULL: not allocated yet */

static create *
find_next(void)
{
	static create *known; /* atomic */
	create *next = th_load_relaxed(&known);
	void *found;

	if (next)
		return next;
	found = th_next_find_now("pthread_create");
	memcpy(&next, &found, sizeof(next));
	th_store_relaxed(&known, next);
	return next;
}

static struct start *
take_start(void)
{
	struct start *slab = th_memory_map_once(&starts, STARTS_MAX * sizeof(*slab));

	for (uint32_t i = 0; slab && i < STARTS_MAX; i++)
		if (!th_load_relaxed(&slab[i].busy) && !th_exchange_acquire(&slab[i].busy, 1))
			return &slab[i];
	return NULL;
}

static void
give_start(struct start *start)
{
	th_store_release(&start->busy, 0);
}

static uint64_t
stack_bytes_of(const pthread_attr_t *attributes)
{
	static size_t by_default; /* atomic */
	size_t bytes = th_load_relaxed(&by_default);
	pthread_attr_t standard;

	if (attributes)
		return pthread_attr_getstacksize(attributes, &bytes) ? 0 : bytes;
	if (!bytes && !pthread_attr_init(&standard)) {
		pthread_attr_getstacksize(&standard, &bytes);
		pthread_attr_destroy(&standard);
		th_store_relaxed(&by_default, bytes);
	}
	return bytes;
}

static __attribute__((noinline)) struct start *
prepare(const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
	struct th_registers registers;
	struct th_tally_item item;
	struct start *start;

	th_registers_here(&registers);
	th_thread_starts_add(&registers, stack_bytes_of(attributes), &item);
	if (!item.maker)
		return NULL;
	start = take_start();
	if (!start) {
		th_thread_starts_fail(&item);
		th_log_count(TH_COUNTER_THREADS_UNSEEN, 1);
		return NULL;
	}
	start->routine = routine;
	start->argument = argument;
	start->item = item;
	return start;
}

static __attribute__((noinline)) struct start
begin(struct start *start)
{
	struct start copy = *start;

	give_start(start);
	th_thread_starts_run(&copy.item);
	return copy;
}

static void *
run(void *data)
{
	struct start start = begin(data);

	return start.routine(start.argument);
}

EXPORT int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
	void *argument)
{
	create *next = find_next();
	struct start *start;
	int error;

	if (!next)
		return EAGAIN;
	start = prepare(attributes, routine, argument);
	if (!start)
		return next(thread, attributes, routine, argument);
	error = next(thread, attributes, run, start);
	if (error) {
		th_thread_starts_fail(&start->item);
		give_start(start);
	}
	return error;
}

void
th_threads_reset(void)
{
	/* The old slab stays mapped copy-on-write and untouched. */
	starts = NULL;
}
