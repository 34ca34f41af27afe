/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts captures in flight, those between th_in_flight_begin() and th_in_flight_end().
 * Recording ends, and resources of captures are removed, only when none is left.
 *
 * Sequentially consistent on both sides: either the capture sees that recording has ended (or
 * that a resource is gone), or the waiting thread sees the capture.
 */
#ifndef TH_UNIFY_SAMPLE_IN_FLIGHT_H
#define TH_UNIFY_SAMPLE_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/log/log.h"

enum th_in_flight_state { TH_IN_FLIGHT_NOT_YET, TH_IN_FLIGHT_OPEN, TH_IN_FLIGHT_OVER };

extern struct th_in_flight {
	uint32_t state;    /* atomic, enum th_in_flight_state */
	uint32_t captures; /* atomic: captures in flight */
} th_in_flight;

/*
 * Whether the calling thread may capture; if so, th_in_flight_end() must follow. [in-malloc]
 */
static inline bool
th_in_flight_begin(void)
{
	__atomic_fetch_add(&th_in_flight.captures, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&th_in_flight.state, __ATOMIC_SEQ_CST) == TH_IN_FLIGHT_OPEN &&
		th_log_is_ours())
		return true;
	__atomic_fetch_sub(&th_in_flight.captures, 1, __ATOMIC_SEQ_CST);
	return false;
}

static inline void
th_in_flight_end(void)
{
	__atomic_fetch_sub(&th_in_flight.captures, 1, __ATOMIC_SEQ_CST);
}

/* May be outdated when it returns. [in-malloc] */
static inline enum th_in_flight_state
th_in_flight_state(void)
{
	return (enum th_in_flight_state)__atomic_load_n(&th_in_flight.state, __ATOMIC_RELAXED);
}

/* Lets captures begin; publishes all preceding initialization to them. [any] */
void th_in_flight_open(void);

/* Stops new captures and waits for those in flight, for about a second at most. [any] */
void th_in_flight_close(void);

/*
 * Waits for captures in flight, for about a second at most; false: one still is.  New ones may begin, but
 * not after th_in_flight_close(). [any]
 */
bool th_in_flight_drain(void);

/* For another recording of the same process, once no capture of the last one is in flight. [any] */
void th_in_flight_restart(void);

/* In a forked child: restores the initial state. */
void th_in_flight_reset(void);

#endif
