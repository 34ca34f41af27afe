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

#include "unify/shared/late_status.h"
#include "unify/shared/log_format.h"
#include "unify/shared/settings_table.h"

/*
 * A Java VM is about to be created, or has loaded the library as its agent.  Starts the
 * recording unless it is already running or disabled here.  True when this process is recorded.
 */
bool th_life_java_comes(void);

/*
 * Loaded as an agent into a process without the preloaded library (th_next_is_late()): starts
 * recording with these options (settings.h).  Anything but TH_LATE_RECORDS: not recorded, and the
 * reason printed.  If somebody `waits` for the answer, a log's name in the options that cannot be
 * written is refused; otherwise the log goes elsewhere. [jvmti]
 */
enum th_late_status th_life_start_late(const char *options, bool waits);

/*
 * The process begins to end: takes the last breakdown of resident memory, while what is freed from
 * now on is still there, and marks the time in the log.  Does nothing unless the process is
 * recorded.  Preserves errno. [any]
 */
void th_life_ends(enum th_teardown_cause cause);

/* Whether TWINHEAP_VERBOSE is on. [any] */
bool th_life_is_verbose(void);

/* Nanoseconds between two full collections of the Java heap; 0 = none. [any] */
uint64_t th_life_gc_every(void);

/* The ledger at the start: TH_LEDGER_OFF, ... */
uint32_t th_life_ledger(void);

/* Whether the Java heap is collected when the VM begins to end. [any] */
enum th_gc_at_exit th_life_gc_at_exit(void);

#endif
