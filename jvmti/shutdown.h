/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the Java VM's shutdown, observed by the threads that begin with it: those of the
 * shutdown hooks, and those that handle a signal.  JVMTI's VMDeath comes only after the hooks.
 */
#ifndef TH_JVMTI_SHUTDOWN_H
#define TH_JVMTI_SHUTDOWN_H

#include <jvmti.h>

/*
 * Registers a shutdown hook, so that the end of a program without hooks is seen; once in the life of
 * the VM, in which it stays.  In the live phase. [jvmti]
 */
void th_shutdown_init(JNIEnv *env);

/*
 * A thread of that name ("": unknown) starts, on that thread: marks the log if the VM has begun to
 * shut down or handles a signal that usually ends it, after a full collection if that is
 * configured.  The guard must be held. [jvmti]
 */
void th_shutdown_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, const char *name);

#endif
