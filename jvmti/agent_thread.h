/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent thread: a daemon thread of the VM that sleeps on a futex.  It names methods as soon as
 * they occur, looks for dead objects after collections, rolls the rate control, and once a second
 * writes the exact bytes of threads.
 */
#ifndef TH_JVMTI_AGENT_THREAD_H
#define TH_JVMTI_AGENT_THREAD_H

#include <jvmti.h>
#include <stdbool.h>

#include "unify/shared/log_format.h"

/* What it does for the agent, under the guard. */
struct th_agent_duties {
	void (*every_turn)(void);
	void (*every_second)(void);
	bool (*follow_gate)(bool is_wanted);           /* as for th_control_set_java() */
	enum th_control_answer (*count_buffers)(void); /* as for th_control_set_buffers() */
	void (*end_recording)(JNIEnv *env);            /* when that was asked for */
};

/* Starts it; `duties` stay the caller's for good.  In the live phase. [jvmti] */
bool th_agent_thread_start(jvmtiEnv *jvmti, JNIEnv *env, const struct th_agent_duties *duties);

/* Makes it look for work at once.  Anywhere, also inside a collection. */
void th_agent_thread_wake(void);

/* Asks it to end and waits, for a second or somewhat more; true when it has ended.  [jvmti] */
bool th_agent_thread_stop(void);

#endif
