/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on stderr, written with write(2) only: no stdio, no allocation, and no signal is
 * left pending in the host.
 */
#include "preload/message.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unify/base/at_start.h"
#include "unify/base/real_dlsym.h"
#include "unify/base/system.h"

/* The kernel's signal set, whose size it checks: libc's sigset_t is larger. */
typedef uint64_t signal_set;
#define SET_OF(signal) ((signal_set)1 << ((signal)-1))

/*
 * Signals that a write raises in the calling thread: SIGPIPE if a pipe has no reader and
 * SIGXFSZ at RLIMIT_FSIZE end the process; SIGTTOU stops a background job that writes to a
 * terminal with stty tostop, unless it blocks the signal.
 */
#define BLOCKED (SET_OF(SIGPIPE) | SET_OF(SIGXFSZ) | SET_OF(SIGTTOU))

/*
 * strerrordesc_np() of glibc 2.32 and later. strerror() is not used: it translates, holding
 * locks of libc.
 */
static TH_AT_START const char *(*describe)(int error);

/* The signal raised with a failure. */
static signal_set
raised_by(int error)
{
	return error == EPIPE ? SET_OF(SIGPIPE) : error == EFBIG ? SET_OF(SIGXFSZ) : 0;
}

/*
 * write(2) that raises no signal.  Uses system calls, because the host may interpose the
 * functions.
 */
static void
write_line(const char *line, size_t length)
{
	const struct timespec at_once = {0, 0};
	const signal_set blocked = BLOCKED;
	signal_set before = 0;
	signal_set caused, hosts;

	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &hosts, sizeof(hosts)))
		return;
	syscall(SYS_rt_sigpending, &before, sizeof(before));
	long written = th_system_write(STDERR_FILENO, line, length);
	/* A signal that was pending before belongs to the host and stays pending. */
	caused = (written < 0 ? raised_by(errno) : 0) & ~before;
	if (caused)
		syscall(SYS_rt_sigtimedwait, &caused, NULL, &at_once, sizeof(caused));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &hosts, NULL, sizeof(hosts));
}

void
th_message_init(void)
{
	void *found = th_real_dlsym(RTLD_DEFAULT, "strerrordesc_np");

	if (found)
		memcpy(&describe, &found, sizeof(describe));
	else
		dlerror(); /* clears dlerror for the host */
}

const char *
th_message_reason(int error)
{
	const char *reason = describe ? describe(error) : strerror(error);

	return reason ? reason : "unknown error";
}

void
th_message(const char *format, ...)
{
	char line[512] = "twinheap: ";
	const int prefix = sizeof("twinheap: ") - 1;
	int saved_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
	va_end(arguments);
	if (length > (int)sizeof(line) - prefix - 2)
		length = sizeof(line) - prefix - 2;
	if (length >= 0) {
		line[prefix + length] = '\n';
		write_line(line, (size_t)(prefix + length + 1));
	}
	errno = saved_errno;
}
