/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the Java heap, and the exact bytes that every thread has allocated.
 *
 * Before JDK 25 the VM selects the first object of a TLAB far too often (JDK-8356372): after an
 * allocation outside the TLAB its byte count is inflated.  Such a sample is kept only with the
 * probability of an unbiased sampler; together with the exact totals this corrects the
 * estimates.  JDK 11 has a second bias that cannot be corrected from outside.
 *
 * Where the VM allows it, the library draws the countdown to the next sample itself
 * (vm_countdown.h).
 */
#ifndef TH_JVMTI_HEAP_H
#define TH_JVMTI_HEAP_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/hotspot.h"

/* The bias of a VM's sampler. */
enum th_heap_sampler {
	TH_SAMPLER_LAWFUL,      /* 25 and later: unbiased */
	TH_SAMPLER_TLAB_BIASED, /* up to 24: corrected here */
	TH_SAMPLER_BROKEN,      /* 11: shares are approximate */
};

/* The sampler of a feature release. */
enum th_heap_sampler th_heap_sampler_of(uint32_t feature_release);

/* `hotspot` stays the caller's.  Bias can be corrected only if it provides exact bytes. */
void th_heap_init(const struct th_hotspot *hotspot, enum th_heap_sampler sampler);

/*
 * Starts recording samples.  `own_draws`: the library draws the countdowns, because
 * th_vm_countdown_find() succeeded. [jvmti]
 */
void th_heap_begin(bool own_draws);

/*
 * The library has the sampler again after another agent may have used it.  Countdowns begun in
 * between are invalid, so the next sample of every thread only starts a new one.
 */
void th_heap_take_over(void);

/*
 * Marks the existing threads: each is counted from its first sample on, because what it
 * allocated before the recording is unknown.  Before samples are recorded. [jvmti]
 */
void th_heap_meet_threads(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * Reads the name of one live thread, or of all, again. th_heap_thread_starts() must have
 * registered their records.  The guard must be held. [jvmti]
 */
void th_heap_look_at_name(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);
void th_heap_look_at_names(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * Whether each Java sample reads the name of its thread, at a cost of about 1 us.  Needed where
 * th_agent_renamed() is not called.  Before samples are recorded.
 */
void th_heap_ask_names(bool asks);

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
void th_heap_thread_ends(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);

/*
 * Writes the exact bytes of every thread whose count changed.  `final`: also of threads without
 * a sample. [agent-thread]
 */
void th_heap_log_bytes(bool final);

#endif
