/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/loader.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>

#include "unify/base/system.h"

/*
 * A visit takes microseconds, unless its thread waits for a processor: a fork yields a few times,
 * then sleeps, 0.2 s in total at most.
 */
#define FORK_YIELDS 64
#define FORK_NAPS 2000
#define FORK_NAP_NS 100000
/* Maximum wait of a visit for the end of a fork, 0.1 s. */
#define VISIT_NAPS 100
#define VISIT_NAP_NS 1000000

/*
 * Each side announces itself and then looks at the other: sequentially consistent, so at least
 * one of the two sees the other.
 */
static uint32_t visiting; /* number of visits */
static uint32_t forking;  /* number of threads that fork */

static bool
enter(void)
{
	for (int turn = 0; turn < VISIT_NAPS; turn++) {
		__atomic_fetch_add(&visiting, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST))
			return true;
		__atomic_fetch_sub(&visiting, 1, __ATOMIC_SEQ_CST);
		th_system_nap(VISIT_NAP_NS);
	}
	return false;
}

bool
th_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t bytes, void *data), void *data)
{
	if (!enter())
		return false;
	dl_iterate_phdr(visit, data);
	__atomic_fetch_sub(&visiting, 1, __ATOMIC_SEQ_CST);
	return true;
}

void
th_loader_before_fork(void)
{
	int saved_errno = errno;

	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	for (int turn = 0; turn < FORK_YIELDS + FORK_NAPS; turn++) {
		if (!__atomic_load_n(&visiting, __ATOMIC_SEQ_CST))
			break;
		if (turn < FORK_YIELDS)
			sched_yield();
		else
			th_system_nap(FORK_NAP_NS);
	}
	errno = saved_errno;
}

void
th_loader_after_fork(void)
{
	__atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}

void
th_loader_reset(void)
{
	visiting = forking = 0;
}
