/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/recording/server.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unify/base/atomic.h"
#include "unify/base/system.h"
#include "unify/log/log.h"
#include "unify/shared/clock.h"

/* Between two wake-ups by samples. */
#define GAP_NS 10000000
/* Without a log, or where the kernel refuses it, there is no futex. */
#define NAP_NS 20000000

static struct {
	uint32_t *calls; /* atomic: the futex; NULL: there is no server */
	/* atomic: when it wakes up by itself; 0: it is awake, or a thread is waking it */
	uint64_t until;
	uint64_t awake;     /* atomic: when it last woke up */
	uint32_t is_asleep; /* atomic: it may be waiting */
	uint32_t seen;      /* the server's: calls when it last returned */
} server;

/* Shared with the tool, hence not FUTEX_PRIVATE. */
static void
futex_wake(uint32_t *calls)
{
	int saved_errno = errno;

	syscall(SYS_futex, calls, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = saved_errno;
}

/* Returns at once if the calls are not `calls` any more.  Where the kernel refuses, it naps. */
static void
futex_wait(uint32_t *word, uint32_t calls, uint64_t ns)
{
	const struct timespec time = {
		.tv_sec = (time_t)(ns / TH_NS_PER_S), .tv_nsec = (long)(ns % TH_NS_PER_S)};

	if (syscall(SYS_futex, word, FUTEX_WAIT, calls, &time, NULL, 0) && errno != ETIMEDOUT &&
		errno != EAGAIN && errno != EINTR)
		th_system_nap(NAP_NS);
}

void
th_server_start(void)
{
	struct th_log_header *header = th_log_header();

	if (!header)
		return;
	server.seen = th_load_acquire(&header->control.calls);
	th_store_release(&server.calls, &header->control.calls);
}

void
th_server_stop(void)
{
	th_store_release(&server.calls, NULL);
}

void
th_server_sleep(uint64_t until)
{
	uint32_t *word = server.calls;
	uint64_t now = th_clock_now();

	if (!word) { /* there is no log */
		th_system_nap(NAP_NS);
		return;
	}
	uint32_t calls = th_load_acquire(word);
	if (calls == server.seen && now < until) {
		th_store_release(&server.until, until);
		/*
		 * Sequentially consistent, as the accesses in th_server_wake(): either that
		 * finds the server asleep, or the kernel finds the new number of calls.
		 */
		__atomic_store_n(&server.is_asleep, 1, __ATOMIC_SEQ_CST);
		futex_wait(word, calls, until - now);
		th_store_release(&server.is_asleep, 0);
		th_store_release(&server.until, 0);
		th_store_relaxed(&server.awake, th_clock_now());
	}
	server.seen = th_load_acquire(word);
}

void
th_server_wake(void)
{
	uint32_t *calls = th_load_acquire(&server.calls);

	if (!calls)
		return;
	__atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&server.is_asleep, __ATOMIC_SEQ_CST))
		futex_wake(calls);
}

void
th_server_wake_by(uint64_t now, uint64_t latest)
{
	uint64_t until = th_load_relaxed(&server.until);

	if (until > latest && now >= th_load_relaxed(&server.awake) + GAP_NS &&
		th_cas_acq_rel(&server.until, &until, 0))
		th_server_wake();
}

void
th_server_reset(void)
{
	server.calls = NULL;
	server.until = 0;
	server.is_asleep = 0;
}
