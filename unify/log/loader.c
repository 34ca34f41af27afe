/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/log/loader.h"

#include <sched.h>
#include <stdint.h>

#include "unify/base/system.h"

/* Each yields the processor. */
#define FORK_TURNS 4096
#define VISIT_TURNS 100
#define NAP_NS 1000000

/*
 * Each side announces itself and then looks at the other: sequentially consistent, so at least
 * one of the two sees the other.
 */
static uint32_t visiting; /* number of visits */
static uint32_t forking;  /* number of threads that fork */

static bool
enter(void)
{
	for (int turn = 0; turn < VISIT_TURNS; turn++) {
		__atomic_fetch_add(&visiting, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&forking, __ATOMIC_SEQ_CST))
			return true;
		__atomic_fetch_sub(&visiting, 1, __ATOMIC_SEQ_CST);
		th_system_nap(NAP_NS);
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
	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	for (int turn = 0; turn < FORK_TURNS; turn++) {
		if (!__atomic_load_n(&visiting, __ATOMIC_SEQ_CST))
			return;
		sched_yield();
	}
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
