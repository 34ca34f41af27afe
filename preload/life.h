/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the library in a process: load, start of the recording, fork, exit.
 *
 * The process that the user started is recorded from its first allocation.  Its children have
 * the library too, through the inherited environment; by default they stay idle and leave
 * nothing, until one creates a Java VM.
 */
#ifndef TH_PRELOAD_LIFE_H
#define TH_PRELOAD_LIFE_H

#include <stdbool.h>

/*
 * A Java VM is about to be created, or has loaded us as its agent: starts the recording unless
 * it runs already or is not wanted here.  True when this process records.
 */
bool th_life_java_comes(void);

/* Whether TWINHEAP_VERBOSE is on. [any] */
bool th_life_is_verbose(void);

#endif
