/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java frames for the recorder, and where in them the older native segments belong.
 *
 * A thread's stack is a chain of segments: native code on top, the Java frames that called it,
 * the native code that called those through the VM's call stub, and so on.  AsyncGetCallTrace
 * (inside malloc) or GetStackTrace (in a JVMTI callback, where the former refuses frames called
 * from compiled code) gives the Java frames of all segments in one run.  The seams are found from below: every call
 * stub frame holds a JavaCallWrapper, which saved the anchor of the segment before it and the
 * method that was called, so the number of segments, the bottom method of each and the registers
 * of the native code below are known.
 */
#ifndef TH_JVMTI_JAVA_STACK_H
#define TH_JVMTI_JAVA_STACK_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/hotspot.h"
#include "unify/recorder.h"

struct th_java_stack_vm {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	const struct th_hotspot *hotspot; /* stays the caller's */
	void *async_get_call_trace;       /* libjvm's function of that name, or NULL */
};

void th_java_stack_init(const struct th_java_stack_vm *vm);

/* The provider for the recorder; NULL when the VM does not tell enough. */
const struct th_java_provider *th_java_stack_provider(void);

#endif
