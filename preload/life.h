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

#include "jvmti/agent.h"
#include "unify/shared/late_status.h"
#include "unify/shared/log_format.h"

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
 * now on is still there, and marks the time in the log.  At an immediate exit it only marks the time,
 * and not on a thread that a signal has interrupted inside the library.  Does nothing unless the process
 * is recorded.  Preserves errno. [any]
 */
void th_life_ends(enum th_teardown_cause cause);

/* Sets what the settings say to the agent; the other members stay. [any] */
void th_life_tell_agent(struct th_agent_host *host);

#endif
