/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that libc wraps as cancellation points (pthreads(7)), made through syscall(2),
 * which is not a cancellation point.  The library runs inside malloc: cancelling a thread there
 * would unwind it and leave locks of the application and the library held.
 * tests/e2e/test_build.c checks that the library imports none of libc's wrappers.
 *
 * As the wrappers: -1 and errno on failure. [any]
 */
#ifndef TH_UNIFY_BASE_SYSTEM_H
#define TH_UNIFY_BASE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/*
 * Maximum retries of a call that is interrupted by signals.  A timer may be faster than a slow
 * file, so the number is limited: after that the call fails with EINTR.
 */
#define TH_SYSTEM_TRIES 16

static inline int
th_system_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int
th_system_close(int descriptor)
{
	return (int)syscall(SYS_close, descriptor);
}

/* Retried if interrupted by signals. */
static inline ssize_t
th_system_read(int descriptor, void *buffer, size_t bytes)
{
	ssize_t got;
	int tries = 0;

	do
		got = syscall(SYS_read, descriptor, buffer, bytes);
	while (got < 0 && errno == EINTR && ++tries < TH_SYSTEM_TRIES);
	return got;
}

static inline ssize_t
th_system_pread(int descriptor, void *buffer, size_t bytes, off_t from)
{
	return syscall(SYS_pread64, descriptor, buffer, bytes, from);
}

static inline ssize_t
th_system_pwrite(int descriptor, const void *buffer, size_t bytes, off_t from)
{
	return syscall(SYS_pwrite64, descriptor, buffer, bytes, from);
}

static inline ssize_t
th_system_write(int descriptor, const void *buffer, size_t bytes)
{
	return syscall(SYS_write, descriptor, buffer, bytes);
}

static inline int
th_system_allocate(int descriptor, off_t from, off_t bytes)
{
	int result;
	int tries = 0;

	do
		result = (int)syscall(SYS_fallocate, descriptor, 0, from, bytes);
	while (result < 0 && errno == EINTR && ++tries < TH_SYSTEM_TRIES);
	return result;
}

/* Gives back the space of a part of a file, which then reads as zeros; its size stays. */
static inline int
th_system_punch(int descriptor, off_t from, off_t bytes)
{
	const int punch_hole = 2, keep_size = 1; /* fallocate(2) */

	return (int)syscall(SYS_fallocate, descriptor, punch_hole | keep_size, from, bytes);
}

/* Duplicates the descriptor to a number of at least `least`. */
static inline int
th_system_duplicate(int descriptor, int least)
{
	return (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, least);
}

/* Sleeps; a signal ends it early. */
static inline void
th_system_nap(long ns)
{
	const struct timespec nap = {0, ns};

	syscall(SYS_nanosleep, &nap, NULL);
}

/*
 * Blocks all signals of this thread, including those that libc reserves.  Returns the previous
 * mask for th_system_restore_signals(). [any]
 */
static inline uint64_t
th_system_block_signals(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all));
	return before;
}

static inline void
th_system_restore_signals(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

#endif
