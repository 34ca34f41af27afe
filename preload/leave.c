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
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/entry.h"
#include "preload/life.h"
#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/sample/thread.h"

/* L(name, parameters, arguments); all return 0, or -1 and set errno. */
#define CHANGES(L)                                                                         \
	L(setuid, (uid_t user), (user))                                                    \
	L(seteuid, (uid_t effective), (effective))                                         \
	L(setreuid, (uid_t real, uid_t effective), (real, effective))                      \
	L(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved)) \
	L(chroot, (const char *path), (path))
/* X(name, cause); all take the status and do not return. */
#define ENDS(X)                   \
	X(exit, TH_TEARDOWN_EXIT) \
	X(quick_exit, TH_TEARDOWN_QUICK_EXIT)

static struct {
#define L(name, parameters, arguments) int(*name) parameters;
	CHANGES(L)
#undef L
#define X(name, cause) void (*name)(int status);
	ENDS(X)
#undef X
} next TH_AT_START;

void
th_leave_init(void)
{
	void *found;

	if (!th_real_dlsym_find())
		return;
#define FIND(name, ...)              \
	found = th_next_find(#name); \
	memcpy(&next.name, &found, sizeof(found));
	CHANGES(FIND)
	ENDS(FIND)
#undef FIND
}

#define L(name, parameters, arguments)                                               \
	EXPORT int name parameters                                                   \
	{                                                                            \
		if (UNLIKELY(!next.name))                                            \
			th_leave_init();                                             \
		if (UNLIKELY(!next.name)) {                                          \
			errno = ENOSYS;                                              \
			return -1;                                                   \
		}                                                                    \
		/* A signal handler that allocates must not wait for this thread. */ \
		th_guard_enter();                                                    \
		th_log_hold_file();                                                  \
		th_guard_leave();                                                    \
		return next.name arguments;                                          \
	}
CHANGES(L)
#undef L

#define X(name, cause)                     \
	EXPORT void name(int status)       \
	{                                  \
		th_life_ends(cause);       \
		if (!next.name)            \
			th_leave_init();   \
		if (next.name)             \
			next.name(status); \
		_exit(status);             \
	}
ENDS(X)
#undef X

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
