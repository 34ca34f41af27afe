/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe is rt_sigprocmask with an invalid `how`: the kernel first copies the set from user
 * memory (EFAULT if it cannot) and then rejects `how` (EINVAL), so nothing changes
 * (kernel/signal.c).  It needs no file descriptor, seccomp filters do not forbid it, and it
 * cannot race with a signal.  The system call is made in assembly, so errno does not change.
 */
#include "unify/base/safe_read.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

/* The kernel's sizeof(sigset_t): 64 signals. */
#define KERNEL_SIGSET_BYTES 8
#define IMPOSSIBLE_HOW (-1)

static long
probe(uintptr_t address)
{
#if defined(__x86_64__)
	register long bytes __asm__("r10") = KERNEL_SIGSET_BYTES;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_rt_sigprocmask), "D"(IMPOSSIBLE_HOW), "S"(address), "d"(0L),
			 "r"(bytes)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number __asm__("x8") = SYS_rt_sigprocmask;
	register long result __asm__("x0") = IMPOSSIBLE_HOW;
	register uintptr_t set __asm__("x1") = address;
	register long old __asm__("x2") = 0;
	register long bytes __asm__("x3") = KERNEL_SIGSET_BYTES;

	__asm__ volatile("svc #0"
			 : "+r"(result)
			 : "r"(number), "r"(set), "r"(old), "r"(bytes)
			 : "memory");
	return result;
#else
#	error "unknown processor"
#endif
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

bool
th_safe_read_extend(struct th_safe_read *readable, uintptr_t address, size_t bytes)
{
	uintptr_t last = address + bytes - 1;

	if (!bytes || last < address)
		return false;
	for (uintptr_t page = th_align_down(address, TH_PAGE_BYTES); page <= last;
		page += TH_PAGE_BYTES) {
		if (page >= readable->low && page < readable->high)
			continue;
		if (probe(page) != -EINVAL)
			return false;
		remember(readable, page);
	}
	return true;
}
