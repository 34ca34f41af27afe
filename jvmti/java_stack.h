/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java frames for the recorder, and the positions of the older native segments among them.
 *
 * A thread's stack is a chain of segments: native code on top, the Java frames that called it,
 * the native code that called those through the VM's call stub, and so on.  AsyncGetCallTrace
 * returns the Java frames of all segments in one list.  The boundaries are found from the call
 * stub frames: each holds a JavaCallWrapper, which saved the anchor of the previous segment and
 * the called method.  This gives the number of segments, the bottom method of each, and the
 * registers of the native code below.
 *
 * In the callback for a sampled Java object the list comes from GetStackTrace, which may not be
 * called inside malloc.
 */
#ifndef TH_JVMTI_JAVA_STACK_H
#define TH_JVMTI_JAVA_STACK_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/hotspot.h"
#include "unify/sample/capture.h"

/*
 * A VM is about to be created; its tables were read into `hotspot`, which stays the caller's.
 * Native stacks end at the first frame in its code, without Java frames.
 */
void th_java_stack_expect(const struct th_hotspot *hotspot);

/*
 * The VM is live: from now on native and Java stacks get their Java frames.  `async` is
 * libjvm's AsyncGetCallTrace.  False when the VM does not export enough.
 */
bool th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti, void *async, uint32_t feature_release);

#endif
