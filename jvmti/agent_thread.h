/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent thread: a daemon thread of the VM that sleeps until there is work.  It looks up the
 * names of new methods, finds dead objects after collections, runs the rate control, and writes
 * the exact bytes of threads once a second.
 */
#ifndef TH_JVMTI_AGENT_THREAD_H
#define TH_JVMTI_AGENT_THREAD_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/heap/full_collection.h"
#include "unify/recording/control.h"
#include "unify/shared/log_format.h"

/* Callbacks of the agent, called under the guard. */
struct th_agent_duties {
	struct th_full_collection_plan full_collections;
	/* Returns when the next turn is due (CLOCK_MONOTONIC, ns); UINT64_MAX: by nothing of its own */
	uint64_t (*every_turn)(void);
	void (*every_second)(void);
	struct th_control_java control;
	void (*end_recording)(JNIEnv *env); /* on request */
};

/*
 * Starts the thread.  `duties` stay the caller's and must remain valid.  In the live phase.
 * [jvmti]
 */
bool th_agent_thread_start(jvmtiEnv *jvmti, JNIEnv *env, const struct th_agent_duties *duties);

/*
 * th_control_java.flush: brings the log up to date.  Looks for dead objects now, even if the last
 * search was expensive, or if the collector clears references concurrently and the search after its
 * pauses is still to come.  At the end of the process another thread may call this, after this thread
 * has ended or, if this thread hangs, concurrently with it. [agent-thread]
 */
void th_agent_thread_flush(void);

/* Whether the thread runs. [any] */
bool th_agent_thread_is_alive(void);

/* The VM begins to end: the thread takes a breakdown of resident memory at once. [any] */
void th_agent_thread_vm_ends(void);

/* Asks the thread to end and waits for about a second; true when it has ended. [jvmti] */
bool th_agent_thread_stop(void);

#endif
