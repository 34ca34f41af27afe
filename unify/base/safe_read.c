/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first way to ask is rt_sigprocmask with an invalid `how`: Linux copies the set from user
 * memory (EFAULT if it cannot) before it rejects `how` (EINVAL), so nothing changes
 * (kernel/signal.c).  It needs no file descriptor, and seccomp filters do not forbid it.  A sandbox
 * or an emulator may check `how` first, and would call all memory readable, so each way is tried on
 * two pages of known access before it is used.  The second is process_vm_readv from this process,
 * five times as slow.  Without either, no memory is readable that is not known to be.
 */
#include "unify/base/safe_read.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unify/base/atomic.h"

/* The kernel's sizeof(sigset_t): 64 signals. */
#define KERNEL_SIGSET_BYTES 8
#define IMPOSSIBLE_HOW (-1)

enum probe {
	UNKNOWN, /* not tried yet */
	BY_SIGNAL_MASK,
	BY_COPY,
	NO_PROBE,
};

static uint32_t chosen; /* atomic: enum probe; every thread that tries finds the same */

static bool
can_read(enum probe probe, uintptr_t page)
{
	uint64_t word;
	const struct iovec from = {(void *)page, sizeof(word)}, to = {&word, sizeof(word)};

	if (probe == BY_SIGNAL_MASK)
		return syscall(SYS_rt_sigprocmask, IMPOSSIBLE_HOW, page, NULL,
			       KERNEL_SIGSET_BYTES) == -1 &&
		       errno == EINVAL;
	return probe == BY_COPY && syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1L,
					   &from, 1L, 0L) == sizeof(word);
}

static enum probe
choose(void)
{
	const uintptr_t readable = th_align_down((uintptr_t)&chosen, TH_PAGE_BYTES);
	long closed = syscall(SYS_mmap, NULL, TH_PAGE_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	enum probe probe = closed == -1 ? NO_PROBE : BY_SIGNAL_MASK;

	while (probe != NO_PROBE &&
		(!can_read(probe, readable) || can_read(probe, (uintptr_t)closed)))
		probe++;
	if (closed != -1)
		syscall(SYS_munmap, closed, TH_PAGE_BYTES);
	th_store_relaxed(&chosen, probe);
	return probe;
}

static enum probe
get_probe(void)
{
	enum probe probe = th_load_relaxed(&chosen);

	return probe == UNKNOWN ? choose() : probe;
}

/* Adds the page at `page` to the readable range, or restarts the range there. */
static void
remember(struct th_safe_read *readable, uintptr_t page)
{
	if (page == readable->high) {
		readable->high += TH_PAGE_BYTES;
	} else if (page + TH_PAGE_BYTES == readable->low) {
		readable->low = page;
	} else if (page < readable->low || page >= readable->high) {
		readable->low = page;
		readable->high = page + TH_PAGE_BYTES;
	}
}

static bool
extend(struct th_safe_read *readable, uintptr_t first, uintptr_t last)
{
	const enum probe probe = get_probe();

	for (uintptr_t page = th_align_down(first, TH_PAGE_BYTES); page <= last;
		page += TH_PAGE_BYTES) {
		if (page >= readable->low && page < readable->high)
			continue;
		if (!can_read(probe, page))
			return false;
		remember(readable, page);
	}
	return true;
}

bool
th_safe_read_extend(struct th_safe_read *readable, uintptr_t address, size_t bytes)
{
	uintptr_t last = address + bytes - 1;
	int saved_errno = errno;
	bool is_readable = bytes && last >= address && extend(readable, address, last);

	errno = saved_errno;
	return is_readable;
}

bool
th_safe_read_works(void)
{
	int saved_errno = errno;
	enum probe probe = get_probe();

	errno = saved_errno;
	return probe != NO_PROBE;
}
