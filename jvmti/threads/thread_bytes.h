/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread has allocated in the Java heap, by the VM's own count: for the calling thread exact
 * to the byte in a callback.
 *
 * What the threads that ran before the recording began had allocated until then is read from their
 * JavaThreads, so that their bytes are exact from that time on.  They are found by the address of their
 * JavaThread, and not by JVMTI's thread-local storage, which would give a second state to those that
 * attached while another agent sampled objects (attaching.h).
 */
#ifndef TH_JVMTI_THREADS_THREAD_BYTES_H
#define TH_JVMTI_THREADS_THREAD_BYTES_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* A JavaThread's count, and its current TLAB. */
struct th_thread_bytes {
	uint64_t retired;    /* excluding the current TLAB */
	uint64_t tlab_start; /* 0 = none */
	uint64_t tlab_top;
	uint64_t tlab_end; /* limit for compiled code; 0 = none, or not exported */
};

/*
 * `thread` is the caller's own JavaThread, in native code.  A collection may retire its TLAB at
 * any time: it adds the used part to the bytes, then clears start, top and end.  Under Z without
 * generations it may also set the color bits of all three.  False: it is being changed; what was
 * read is inconsistent.  [jvmti]
 */
bool th_thread_bytes_read(
	const struct th_hotspot *hotspot, const char *thread, struct th_thread_bytes *ret);

/*
 * All bytes of any thread, whose JavaThread may be deleted meanwhile: the caller must verify
 * afterwards that it was not.  False: not readable.  Requires th_hotspot_has_bytes().  [jvmti]
 */
bool
th_thread_bytes_of(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret);

/*
 * All bytes of the same thread.  False: as for th_thread_bytes_read().  Requires
 * th_hotspot_has_bytes().  [jvmti]
 */
bool th_thread_bytes(const struct th_hotspot *hotspot, const char *thread, uint64_t *bytes_ret);

/* The bytes that a thread had allocated before the recording, if they are not known. */
#define TH_OLDER_THREADS_UNKNOWN UINT64_MAX

/*
 * Notes all threads.  `hotspot`: NULL if bytes cannot be read.  Before samples are recorded; later calls
 * forget those of earlier ones. [jvmti]
 */
void th_older_threads_meet(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot);

/* The JavaThread of a thread; NULL: it does not run, or the VM is another. [jvmti] */
const char *th_older_threads_java_thread(JNIEnv *env, jthread thread);

/*
 * The bytes that the thread, which calls, had allocated before the recording: 0 if it is none of them;
 * it then is not any more. [any]
 */
uint64_t th_older_threads_take(const char *java_thread);

/*
 * What the threads that were not taken have allocated since; they are not counted again.  Before the
 * events at the end of threads are switched off. [jvmti]
 */
uint64_t th_older_threads_settle(jvmtiEnv *jvmti, JNIEnv *env);

#endif
