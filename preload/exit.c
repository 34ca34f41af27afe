/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit() is interposed for the program and its libraries.  libc calls its own exit() when main
 * returns, past any interposition; but exit() runs the destructors of the calling thread's
 * thread-local objects before all handlers of atexit() (glibc, stdlib/exit.c), and one of those is
 * registered here for the main thread.  It also runs if the main thread calls pthread_exit().
 */
#include "preload/exit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/life.h"
#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/sample/thread.h"

/* X(name, cause); all take the status and do not return. */
#define FUNCTIONS(X)              \
	X(exit, TH_TEARDOWN_EXIT) \
	X(quick_exit, TH_TEARDOWN_QUICK_EXIT)

static struct {
#define X(name, cause) void (*name)(int status);
	FUNCTIONS(X)
#undef X
} next TH_AT_START;

void
th_exit_init(void)
{
	void *found;

	if (!th_real_dlsym_find())
		return;
#define X(name, cause)               \
	found = th_next_find(#name); \
	memcpy(&next.name, &found, sizeof(found));
	FUNCTIONS(X)
#undef X
}

#define X(name, cause)                     \
	EXPORT void name(int status)       \
	{                                  \
		th_life_ends(cause);       \
		if (!next.name)            \
			th_exit_init();    \
		if (next.name)             \
			next.name(status); \
		_exit(status);             \
	}
FUNCTIONS(X)
#undef X

static void
main_returned(void *unused)
{
	(void)unused;
	th_life_ends(TH_TEARDOWN_MAIN_RETURNED);
}

void
th_exit_watch_main(void)
{
	/* libc finds the library by this address, and never unloads it before the call. */
	static char here;
	int (*add)(void (*destroy)(void *), void *object, void *dso);
	void *found;

	/* A library loaded later may be on any thread, whose end is no sign of an end. */
	if (getpid() != syscall(SYS_gettid) || !th_real_dlsym_find())
		return;
	found = th_real_dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
	memcpy(&add, &found, sizeof(found));
	if (!found)
		return;
	th_guard_enter();
	add(main_returned, NULL, &here);
	th_guard_leave();
}
