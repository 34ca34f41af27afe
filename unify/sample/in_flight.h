/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures in flight.  Each stands between th_in_flight_begin() and th_in_flight_end(); recording ends,
 * and what captures use is taken away, when none is left.
 *
 * Sequentially consistent on both sides: either the capture sees that recording is over (or that
 * what it would use is gone) or whoever waits sees the capture.
 */
#ifndef TH_UNIFY_SAMPLE_IN_FLIGHT_H
#define TH_UNIFY_SAMPLE_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/log/log.h"

enum th_in_flight_state { TH_IN_FLIGHT_NOT_YET, TH_IN_FLIGHT_OPEN, TH_IN_FLIGHT_OVER };

extern struct th_in_flight {
	uint32_t state;    /* atomic, enum th_in_flight_state */
	uint32_t captures; /* atomic: under way */
} th_in_flight;

/* Whether the calling thread may capture; if so, th_in_flight_end() must follow. [in-malloc] */
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

/* As of a moment ago. [in-malloc] */
static inline enum th_in_flight_state
th_in_flight_state(void)
{
	return (enum th_in_flight_state)__atomic_load_n(&th_in_flight.state, __ATOMIC_RELAXED);
}

/* From now on captures may begin, with all that was made ready before. [any] */
void th_in_flight_open(void);

/* From now on none may; those under way are waited for, about a second at most. [any] */
void th_in_flight_close(void);

/* Waits for those under way, about a second at most; others may begin. [any] */
void th_in_flight_drain(void);

/* In a forked child: as at the beginning. */
void th_in_flight_reset(void);

#endif
