/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/in_flight.h"

#include <sched.h>

#include "unify/base/at_start.h"
#include "unify/base/atomic.h"
#include "unify/base/system.h"

/*
 * The longest wait for captures in flight.  Most take microseconds.  The wait then counts naps
 * instead of comparing with a deadline: naps do not elapse while the whole process is stopped.
 */
#define DRAIN_YIELDS 1000
#define DRAIN_NAPS 1000
#define NAP_NS 1000000

TH_AT_START struct th_in_flight th_in_flight;

void
th_in_flight_open(void)
{
	th_store_release(&th_in_flight.state, TH_IN_FLIGHT_OPEN);
}

void
th_in_flight_close(void)
{
	__atomic_store_n(&th_in_flight.state, TH_IN_FLIGHT_OVER, __ATOMIC_SEQ_CST);
	th_in_flight_drain();
}

/* Signed: in a forked child, a capture that began in the parent may end. */
static bool
is_any(void)
{
	return (int32_t)__atomic_load_n(&th_in_flight.captures, __ATOMIC_SEQ_CST) > 0;
}

bool
th_in_flight_drain(void)
{
	for (int i = 0; i < DRAIN_YIELDS + DRAIN_NAPS && is_any(); i++) {
		if (i < DRAIN_YIELDS)
			sched_yield();
		else
			th_system_nap(NAP_NS);
	}
	return !is_any();
}

void
th_in_flight_restart(void)
{
	th_store_release(&th_in_flight.state, TH_IN_FLIGHT_NOT_YET);
}

void
th_in_flight_reset(void)
{
	th_in_flight = (struct th_in_flight){0};
}
