/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sleep of the library's thread, the server (housekeeping.h), and how it is woken: a futex in
 * the control page, so that the tool can wake it as well.  Waking costs a system call only while
 * the server sleeps.
 */
#ifndef TH_UNIFY_RECORDING_SERVER_H
#define TH_UNIFY_RECORDING_SERVER_H

#include <stdint.h>

/* The calling thread is the server from now on.  The log must exist. [agent-thread] */
void th_server_start(void);

/* There is no server from now on, and the control page is left alone. [agent-thread] */
void th_server_stop(void);

/*
 * Sleeps until a time (CLOCK_MONOTONIC, ns), or until woken; returns at once if it was woken since
 * it last returned.  May return early. [agent-thread]
 */
void th_server_sleep(uint64_t until);

/* Wakes the server, if there is one, or keeps it from sleeping once.  In a collection, too. [any] */
void th_server_wake(void);

/*
 * Wakes the server at `now` (ns) unless it wakes up at or before `latest` anyway.  Of several
 * threads one makes the system call, and at most 100 do in a second: a later one is ignored.
 * [in-malloc]
 */
void th_server_wake_by(uint64_t now, uint64_t latest);

/* In a forked child. */
void th_server_reset(void);

#endif
