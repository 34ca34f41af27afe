/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interposed functions with which a daemon changes its user or its root directory, and those that
 * end a process.
 *
 * Most daemons close all descriptors before the former, including the log's, and cannot open the log by
 * name afterwards.  This is the last time at which the library can open it.
 *
 * exit() is interposed for the program and its libraries.  libc calls its own exit() when main
 * returns, past any interposition; but exit() runs the destructors of the calling thread's
 * thread-local objects before all handlers of atexit() (glibc, stdlib/exit.c), and one of those is
 * registered here for the main thread.  It also runs if the main thread calls pthread_exit().
 */
#include "preload/leave.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/life.h"
#include "preload/next.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/sample/thread.h"

#define F(name, type, parameters, arguments)                                         \
	EXPORT type name parameters                                                  \
	{                                                                            \
		/* A signal handler that allocates must not wait for this thread. */ \
		th_guard_enter();                                                    \
		th_log_hold_file();                                                  \
		th_guard_leave();                                                    \
		return th_next.name arguments;                                       \
	}
TH_NEXT_LEAVE(F)
#undef F

EXPORT void
exit(int status)
{
	th_life_ends(TH_TEARDOWN_EXIT);
	th_next.exit(status);
	_exit(status);
}

EXPORT void
quick_exit(int status)
{
	th_life_ends(TH_TEARDOWN_QUICK_EXIT);
	th_next.quick_exit(status);
	_exit(status);
}

/* Both may be called in a signal handler. */
EXPORT void
_exit(int status)
{
	th_life_ends(TH_TEARDOWN_IMMEDIATE_EXIT);
	th_next._exit(status);
	__builtin_unreachable();
}

EXPORT void
_Exit(int status)
{
	th_life_ends(TH_TEARDOWN_IMMEDIATE_EXIT);
	th_next._Exit(status);
	__builtin_unreachable();
}

static void
main_returned(void *unused)
{
	(void)unused;
	th_life_ends(TH_TEARDOWN_MAIN_RETURNED);
}

void
th_leave_watch_main(void)
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
