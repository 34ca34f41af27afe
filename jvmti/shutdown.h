/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of the Java VM's shutdown, observed by the threads that begin with it: those of the
 * shutdown hooks, and those that handle a signal.  JVMTI's VMDeath comes only after the hooks.
 */
#ifndef TH_JVMTI_SHUTDOWN_H
#define TH_JVMTI_SHUTDOWN_H

#include <jvmti.h>

#include "unify/sample/thread.h"

/*
 * In the live phase, before the functions below, after th_perf_data_find(); `thread` is the calling one.  The end of a VM without hooks is seen only if this is the thread that
 * has just made it. [jvmti]
 */
void th_shutdown_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);

/*
 * A thread starts, on that thread: marks the log if the VM has begun to shut down or handles a
 * signal that usually ends it, after a full collection if that is configured.  `record` is the
 * thread's, or NULL.  The guard must be held. [jvmti]
 */
void th_shutdown_thread_starts(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, struct th_thread_record *record);

/*
 * A thread ends, on that thread: collects if the VM ends with it.  May wait 20 ms for a thread that
 * starts or ends at the same time.  As above. [jvmti]
 */
void th_shutdown_thread_ends(struct th_thread_record *record);

/* A native method is bound, before its first call: collects if System.exit() calls it. [jvmti] */
void th_shutdown_native_bound(jvmtiEnv *jvmti, JNIEnv *env, jmethodID method);

#endif
