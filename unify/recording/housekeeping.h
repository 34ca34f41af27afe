/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording needs done now and then: rate windows, the overhead budget, requests on the
 * control page, the end on demand.  The agent's thread does it every 20 ms (a server); in a process
 * without one, threads with a sample due do, at one look at the time for each such sample and
 * without a system call of its own (but for the CPU clock, once a second, under --max-overhead).
 */
#ifndef TH_UNIFY_RECORDING_HOUSEKEEPING_H
#define TH_UNIFY_RECORDING_HOUSEKEEPING_H

#include <stdbool.h>
#include <stdint.h>

/* Recording begins; `end` ends it, outside any capture, under the guard. */
void th_housekeeping_start(void (*end)(void));

/* Does all of it now. [any] */
void th_housekeeping_run(void);

/*
 * From now on, or no longer, a thread calls th_housekeeping_run() every 50 ms at least: requests wait
 * for it and are not served inside malloc. [agent-thread]
 */
void th_housekeeping_set_server(bool has_server);

/* Whether the end was requested (`twinheap ctl stop`): it is near or past. [any] */
bool th_housekeeping_is_ending(void);

/* In a forked child: back to the state before th_housekeeping_start(). */
void th_housekeeping_reset(void);

#endif
