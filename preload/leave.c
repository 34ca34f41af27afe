/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interposed functions with which a daemon changes its user or its root directory.  Most
 * daemons close all descriptors before that, including the log's, and cannot open the log by
 * name afterwards.  This is the last time at which the library can open it.
 */
#include "preload/leave.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "preload/entry.h"
#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/log/log.h"
#include "unify/sample/thread.h"

/* L(name, parameters, arguments); all return 0, or -1 and set errno. */
#define FUNCTIONS(L)                                                                       \
	L(setuid, (uid_t user), (user))                                                    \
	L(seteuid, (uid_t effective), (effective))                                         \
	L(setreuid, (uid_t real, uid_t effective), (real, effective))                      \
	L(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved)) \
	L(chroot, (const char *path), (path))

static struct {
#define L(name, parameters, arguments) int(*name) parameters;
	FUNCTIONS(L)
#undef L
} next TH_AT_START;

void
th_leave_init(void)
{
	void *found;

	if (!th_real_dlsym_find())
		return;
#define L(name, parameters, arguments) \
	found = th_next_find(#name);   \
	memcpy(&next.name, &found, sizeof(found));
	FUNCTIONS(L)
#undef L
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
FUNCTIONS(L)
#undef L
