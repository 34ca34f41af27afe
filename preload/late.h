/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library in a process that it was not preloaded into: loaded as an agent, at the start of the
 * VM or later.  It sees the calls of allocation functions through import slots (slots.h) from then
 * on, and can leave them again.
 */
#ifndef TH_PRELOAD_LATE_H
#define TH_PRELOAD_LATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Redirects the slots of all loaded objects, then opens the C heap and mapped memory, as far as
 * `heaps` (bits 1 << enum th_heap) has them.  The recording must have begun with both closed.
 * Not from the malloc path.
 */
void th_late_redirect(unsigned heaps);

/*
 * The agent's turn: redirects the slots of new objects.  Once a second it examines all slots: if
 * another tool has overwritten ours, the C heap and mapped memory are closed and the other slots
 * restored.  Returns when the next turn is due (CLOCK_MONOTONIC, ns): at the next whole second;
 * UINT64_MAX: nothing is redirected.
 * [agent-thread]
 */
uint64_t th_late_turn(void);

/*
 * The program looks up a function by its name, as it does in objects that it has loaded: wakes the agent
 * thread if there are new ones.  Does not wait, as a constructor may call under the loader's lock. [any]
 */
void th_late_looked_up(void);

/*
 * The VM is about to call a native method for the first time: if objects were loaded since the last
 * turn, waits until their slots are redirected, at most 2 s, or 20 ms after a wait in vain. [jvmti]
 */
void th_late_bound(void);

/* Restores all slots, before the recording ends. [agent-thread] */
void th_late_leave(void);

/* What dlsym() answers for an allocation function while slots are redirected; NULL: the original. */
void *th_late_function(const char *name);

#endif
