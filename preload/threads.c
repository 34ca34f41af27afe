/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pthread_create, interposed: counts threads by the stack that starts them.  libc maps the
 * stacks of threads for itself, and what a new thread allocates before its own code runs belongs
 * to the stack that started it.  A thread's stack stays until it was joined or detached, so the
 * functions that do this are interposed, too.
 *
 * The new thread begins in run(), which tail-calls the program's function, so that stacks of
 * threads begin as without the library.
 */
#include "preload/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/next.h"
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
	bool is_joinable;
	unsigned char busy; /* atomic */
};

static struct start *starts; /* atomic; NULL: not allocated yet */

/* The next definition of a function, which is looked up once, for `known`; NULL: there is none. */
static void *
find_next(const char *name, void **known)
{
	void *next = th_load_relaxed(known);

	if (!next)
		th_store_relaxed(known, next = th_next_find_now(name));
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

/* Loaded as an agent the library does not see all joins. */
static bool
is_joinable(const pthread_attr_t *attributes)
{
	int state = PTHREAD_CREATE_JOINABLE;

	if (attributes)
		pthread_attr_getdetachstate(attributes, &state);
	return state == PTHREAD_CREATE_JOINABLE && !th_next_is_late();
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
	start->is_joinable = is_joinable(attributes);
	return start;
}

static __attribute__((noinline)) struct start
begin(struct start *start)
{
	struct start copy = *start;

	give_start(start);
	th_thread_starts_run(&copy.item, copy.is_joinable ? (uintptr_t)pthread_self() : 0);
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
	static void *known; /* atomic */
	void *found = find_next("pthread_create", &known);
	struct start *start;
	create *next;
	int error;

	if (!found)
		return EAGAIN;
	memcpy(&next, &found, sizeof(next));
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

/* Calls the next definition, and notes its success.  `may_run`: the thread may not have ended. */
#define RELEASES(name, may_run, parameters, arguments)                  \
	EXPORT int name parameters                                      \
	{                                                               \
		static void *known; /* atomic */                        \
		void *found = find_next(#name, &known);                 \
		int(*next) parameters;                                  \
		int error;                                              \
                                                                        \
		if (!found)                                             \
			return ENOSYS;                                  \
		memcpy(&next, &found, sizeof(next));                    \
		error = next arguments;                                 \
		if (!error)                                             \
			th_thread_released((uintptr_t)thread, may_run); \
		return error;                                           \
	}

RELEASES(pthread_detach, true, (pthread_t thread), (thread))
RELEASES(pthread_join, false, (pthread_t thread, void **result), (thread, result))
RELEASES(pthread_tryjoin_np, false, (pthread_t thread, void **result), (thread, result))
RELEASES(pthread_timedjoin_np, false,
	(pthread_t thread, void **result, const struct timespec *end), (thread, result, end))
RELEASES(pthread_clockjoin_np, false,
	(pthread_t thread, void **result, clockid_t clock, const struct timespec *end),
	(thread, result, clock, end))

void
th_threads_reset(void)
{
	/* The old slab stays mapped copy-on-write and untouched. */
	starts = NULL;
}
