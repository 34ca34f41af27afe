/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled direct buffers of native code: nothing gives them back but their collection, so they are
 * followed by weak references.
 */
#ifndef TH_JVMTI_LEDGER_BUFFERS_H
#define TH_JVMTI_LEDGER_BUFFERS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* More are not followed, and count as held; each weak reference costs a collection some 0.1 us. */
#define TH_LEDGER_BUFFERS_MAX 4096

/*
 * Follows a new buffer, recorded as `sample`; `jni`: functions that are not wrapped.  On the thread
 * that has created it. [jvmti]
 */
void th_ledger_buffers_follow(
	const struct JNINativeInterface_ *jni, JNIEnv *env, jobject buffer, uint64_t sample);

/* Logs those that were collected; once a second. [agent-thread] */
void th_ledger_buffers_log(JNIEnv *env);

#endif
