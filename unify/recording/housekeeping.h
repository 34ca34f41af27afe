/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The periodic work of a recording: rate windows, the plan of sampling, requests on the control
 * page, the end on demand.  The agent's thread (a server) does it while samples are due, and when a
 * request wakes it (server.h); threads with a sample due only roll the rate windows, and wake it if
 * it sleeps for long.  In a process without one, threads do it when a sample is due: this costs one read of the clock per sample
 * and no system call of its own (except for the CPU clock, ten times a second at most, with a
 * budget).
 */
#ifndef TH_UNIFY_RECORDING_HOUSEKEEPING_H
#define TH_UNIFY_RECORDING_HOUSEKEEPING_H

#include <stdbool.h>
#include <stdint.h>

/* Starts with the recording; `end` ends it, outside any capture, under the guard. */
void th_housekeeping_start(void (*end)(void));

/*
 * Does all periodic work now.  False: no sample was due since the last call, and the server may
 * sleep. [any]
 */
bool th_housekeeping_run(void);

/*
 * Sets whether the calling thread is the server: it calls th_housekeeping_run() whenever it is woken
 * (server.h), and while samples are due at least every TH_HOUSEKEEPING_BUSY_NS.  Requests wait
 * for it and are not served inside malloc. [agent-thread]
 */
#define TH_HOUSEKEEPING_BUSY_NS 200000000
void th_housekeeping_set_server(bool has_server);

/* Whether the end was requested (`twinheap ctl stop`); stays true afterwards. [any] */
bool th_housekeeping_is_ending(void);

/* In a forked child: restores the state before th_housekeeping_start(). */
void th_housekeeping_reset(void);

#endif
