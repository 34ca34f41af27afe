/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java threads that ran before the recording began: what they had allocated until then is read
 * from their JavaThreads, so that their bytes are exact from that time on.
 *
 * Threads are found by the address of their JavaThread, and not by JVMTI's thread-local storage, which
 * would give a second state to those that attached while another agent sampled objects (attaching.h).
 */
#ifndef TH_JVMTI_THREADS_OLDER_THREADS_H
#define TH_JVMTI_THREADS_OLDER_THREADS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* The bytes of a thread's past, if they are not known. */
#define TH_OLDER_THREADS_UNKNOWN UINT64_MAX

/*
 * Notes all threads.  `hotspot`: NULL if bytes cannot be read.  Before samples are recorded; later calls
 * forget those of earlier ones. [jvmti]
 */
void th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot);

/* The JavaThread of a thread; NULL: it does not run, or the VM is another. [jvmti] */
const char *th_older_threads_java_thread(JNIEnv *env, jthread thread);

/*
 * Whether the thread, which calls, may be one of them; it then is not any more.  *past_ret: the bytes
 * that it had allocated before the recording. [any]
 */
bool th_older_threads_take(const char *java_thread, uint64_t *past_ret);

/*
 * What the threads that were not taken have allocated since; they are not counted again.  Before the
 * events at the end of threads are switched off. [jvmti]
 */
uint64_t th_older_threads_settle(jvmtiEnv *jvmti, JNIEnv *env);

#endif
