/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/flight.h"

#include <sched.h>

#include "unify/atomic.h"
#include "unify/clock.h"

/* Longest wait for captures in flight. */
#define DRAIN_NS TH_NS_PER_S

struct th_flight th_flight;

void
th_flight_open(void)
{
	th_store_release(&th_flight.state, TH_FLIGHT_OPEN);
}

void
th_flight_close(void)
{
	__atomic_store_n(&th_flight.state, TH_FLIGHT_OVER, __ATOMIC_SEQ_CST);
	th_flight_drain();
}

void
th_flight_drain(void)
{
	uint64_t deadline = th_clock_now() + DRAIN_NS;

	/* Signed: in a forked child, one that began in the parent may have ended. */
	while ((int32_t)__atomic_load_n(&th_flight.captures, __ATOMIC_SEQ_CST) > 0 &&
		th_clock_now() < deadline)
		sched_yield();
}

void
th_flight_reset(void)
{
	th_flight = (struct th_flight){0};
}
