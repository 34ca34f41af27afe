/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java frames for the recorder, and the positions of the older native segments among them.
 *
 * A thread's stack is a chain of segments: native code on top, the Java frames that called it,
 * the native code that called those through the VM's call stub, and so on.  The frames of all segments
 * are walked without the VM (java_frames.h); the frame of each call stub gives the registers of the
 * native code below.
 *
 * In a JVMTI callback GetStackTrace is used instead where that walk cannot go on: the older frames of a
 * virtual thread that are in the heap, and a VM that does not export what the walk needs.
 */
#ifndef TH_JVMTI_STACKS_JAVA_STACK_H
#define TH_JVMTI_STACKS_JAVA_STACK_H

#include <jvmti.h>
#include <stdbool.h>

#include "jvmti/vm/hotspot.h"
#include "unify/sample/capture.h"

/*
 * A VM is about to be created; its tables were read into `hotspot`, which stays the caller's.
 * Native stacks end at the first frame in its code, without Java frames.
 */
void th_java_stack_expect(const struct th_hotspot *hotspot);

/*
 * The VM is live: from now on native and Java stacks get their Java frames.  False when the VM does
 * not export enough: native stacks have none, and those of objects come from GetStackTrace.
 */
bool th_java_stack_start(JavaVM *vm, jvmtiEnv *jvmti);

/*
 * The key (stack_memo.h) of an object that the calling thread allocates, whose JavaThread is `thread`, whether
 * Java code does or native code that it called; 0: there is no key. [in-malloc]
 */
uint64_t th_java_key_of_object(const char *thread);

#endif
