/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the Java VM's shutdown, observed by the threads that begin with it: those of the
 * shutdown hooks, and those that handle a signal.  JVMTI's VMDeath comes only after the hooks.
 */
#ifndef TH_JVMTI_SHUTDOWN_H
#define TH_JVMTI_SHUTDOWN_H

#include <jvmti.h>

/*
 * A thread starts, on that thread: marks the log if the VM has begun to shut down or handles a
 * signal that usually ends it.  `name` is the thread's.  The guard must be held. [jvmti]
 */
void th_shutdown_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, const char *name);

#endif
