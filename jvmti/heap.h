/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java heap: what becomes of an object that the VM's sampler chose, and the exact bytes that
 * every thread has allocated.
 *
 * Before JDK 25 the VM chooses the first object of a TLAB far too often (JDK-8356372): after an
 * allocation outside the TLAB its account of bytes is inflated.  Such a sample is kept only with
 * the probability that the law gives it, which, together with the exact totals, mends the
 * estimates.  JDK 11 has a second fault that cannot be mended from outside.
 *
 * When a sample is due we draw, where the VM lets us (vm_countdown.h).
 */
#ifndef TH_JVMTI_HEAP_H
#define TH_JVMTI_HEAP_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/hotspot.h"

/* How the sampler of a VM misbehaves. */
enum th_heap_sampler {
	TH_SAMPLER_LAWFUL,      /* 25 and later */
	TH_SAMPLER_TLAB_BIASED, /* up to 24: cured here */
	TH_SAMPLER_BROKEN,      /* 11: shares are approximate */
};

/* The sampler of a feature release. */
enum th_heap_sampler th_heap_sampler_of(uint32_t feature_release);

/* `hotspot` stays the caller's; without exact bytes in it no bias can be undone. */
void th_heap_init(const struct th_hotspot *hotspot, enum th_heap_sampler sampler);

/*
 * Samples are recorded from now on.  `own_draws`: we draw the countdowns, since
 * th_vm_countdown_find() has succeeded. [jvmti]
 */
void th_heap_begin(bool own_draws);

/*
 * The sampler is ours again after somebody else may have had it: what it counted meanwhile is
 * nothing to us, so the next sample of every thread only begins a countdown.
 */
void th_heap_take_over(void);

/*
 * Marks the threads that are there: each is counted from its first sample on, not from its own
 * beginning, which nobody watched.  Before the samples begin. [jvmti]
 */
void th_heap_meet_threads(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * Reads the names of live threads again: of one, of all.  Their records were found by
 * th_heap_thread_starts().  The guard must be held. [jvmti]
 */
void th_heap_look_at_name(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);
void th_heap_look_at_names(jvmtiEnv *jvmti, JNIEnv *env);

/*
 * Whether each Java sample asks for the name of its thread, which costs about 1 us: where
 * th_agent_renamed() is not called.  Before the samples begin.
 */
void th_heap_ask_names(bool asks);

/*
 * The VM draws with this interval from now on (SetHeapSamplingInterval was called); a thread's
 * countdown under way is still one of the interval before.
 */
void th_heap_set_interval(uint64_t interval);

/* The SampledObjectAlloc callback. */
void JNICALL th_heap_sampled(
	jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jobject object, jclass type, jlong size);

/*
 * The calling thread starts (or is found running) under the VM: its bytes so far are from before
 * the recording when `skip_past` is set. [jvmti]
 */
void th_heap_thread_starts(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, bool skip_past);

/* The calling thread leaves the VM: its exact bytes go to the log. [jvmti] */
void th_heap_thread_ends(jvmtiEnv *jvmti, JNIEnv *env, jthread thread);

/*
 * Writes the exact bytes of every thread that changed.  `final`: also of those without a sample.
 * [agent-thread]
 */
void th_heap_log_bytes(bool final);

#endif
