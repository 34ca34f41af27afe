/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java threads that ran before the recording began: what they had allocated until then is read
 * from their JavaThreads, so that their bytes are exact from that time on.  Each has a mark in its
 * JVMTI thread-local storage until it has a record of its own.
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
 * Marks all threads.  `hotspot`: NULL if bytes cannot be read.  Before samples are recorded; later
 * calls forget the marks of earlier ones. [jvmti]
 */
void th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot);

/* Whether this thread-local storage is a mark. [any] */
bool th_older_threads_is_mark(const void *mark);

/*
 * Whether the calling thread has a mark, which `record` replaces. *past_ret: the bytes that it had
 * allocated before the recording. [jvmti]
 */
bool th_older_threads_take(jvmtiEnv *jvmti, void *record, uint64_t *past_ret);

/*
 * What the threads that still have a mark have allocated since; they are not counted again.  Before
 * the events at the end of threads are switched off. [jvmti]
 */
uint64_t th_older_threads_settle(jvmtiEnv *jvmti, JNIEnv *env);

#endif
