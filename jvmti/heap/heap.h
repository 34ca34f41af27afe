/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the Java heap, and the exact bytes that every thread has allocated.
 *
 * Where the VM allows it, the library draws the countdown to the next sample itself, which makes
 * the samples unbiased on every VM (vm_countdown.h).  Where it does not, the VM draws, and before
 * JDK 25 its choice is biased.
 */
#ifndef TH_JVMTI_HEAP_HEAP_H
#define TH_JVMTI_HEAP_HEAP_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/vm/hotspot.h"

/*
 * `hotspot` stays the caller's.  Notes the existing threads: each is counted from now on
 * (thread_bytes.h).  `asks_names`: each Java sample reads the name of its thread, at a cost of about 1 us,
 * because th_agent_renamed() is not called.  For each recording, before samples are recorded. [jvmti]
 */
void
th_heap_init(jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, bool asks_names);

/*
 * Starts recording samples.  `own_draws`: the library draws the countdowns, because
 * th_vm_countdown_find() succeeded. [jvmti]
 */
void th_heap_begin(bool own_draws);

/*
 * The library has the sampler again after another agent may have used it.  Countdowns are invalid, so
 * the next sample of every thread only starts a new one, if the library draws. [agent-thread]
 */
void th_heap_take_over(void);

/*
 * Reads the name of one live thread, or of all, again. th_heap_thread_starts() must have
 * registered their records.  The guard must be held. [jvmti]
 */
void th_heap_look_at_name(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);
void th_heap_look_at_names(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * The VM draws with this interval from now on (after SetHeapSamplingInterval).  The current
 * countdown of a thread still uses the previous interval.
 */
void th_heap_set_interval(uint64_t interval);

/* The SampledObjectAlloc callback. */
void JNICALL th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size);

/*
 * The calling thread starts, or was found running, in the VM.  `skip_past`: the bytes it has
 * allocated so far precede the recording. [jvmti]
 */
void th_heap_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, bool skip_past);

/* The calling thread leaves the VM: its exact bytes go to the log. [jvmti] */
void th_heap_thread_ends(JNIEnv *env);

/*
 * Counts the threads that are older than the recording and never had a sample.  Before the events at
 * the end of threads are switched off. [jvmti]
 */
void th_heap_settle(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * Writes the exact bytes of every thread whose count changed.  `final`: also of threads without
 * a sample; waits up to 10 ms in all for those that cannot be read. [agent-thread]
 */
void th_heap_log_bytes(bool final);

#endif
