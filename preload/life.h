/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of the library in a process: load, start of the recording, fork, exit.
 *
 * The process that the user started is recorded from its first allocation.  Its children load
 * the library too, through the inherited environment; by default they stay idle and create no
 * log until one creates a Java VM.
 */
#ifndef TH_PRELOAD_LIFE_H
#define TH_PRELOAD_LIFE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A Java VM is about to be created, or has loaded the library as its agent.  Starts the
 * recording unless it is already running or disabled here.  True when this process is recorded.
 */
bool th_life_java_comes(void);

/* Whether TWINHEAP_VERBOSE is on. [any] */
bool th_life_is_verbose(void);

/* Nanoseconds between two full collections of the Java heap; 0 = none. [any] */
uint64_t th_life_gc_every(void);

#endif
