/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers what AsyncGetCallTrace has answered.
 *
 * AsyncGetCallTrace decodes the debug information of each frame, which takes two thirds of the time
 * of a sample.  Its answer depends only on the frames as they stand on the stack, and these can be
 * followed in a tenth of that time: the pc of a frame of compiled code and the compilation that it
 * belongs to determine its methods and bytecode indexes, inlined ones included; for an interpreted
 * frame the method and the bytecode pointer in it do.  A hash of all of them, 64 bits, is the key.
 *
 * What could make one key stand for two answers has no key: frames that will be deoptimized, whose
 * return address no longer tells where they are, mounted virtual threads, stubs, and what cannot be
 * followed.  A compilation has a number that no later one gets, and the key contains the number of
 * classes that were unloaded, so that memory that is used again is no method of before.  One answer
 * in CHECKED is asked for again, and the first that differs ends the use of all.
 */
#ifndef TH_JVMTI_WALK_MEMO_H
#define TH_JVMTI_WALK_MEMO_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/* A frame of AsyncGetCallTrace. */
struct th_call_frame {
	jint bci;
	jmethodID method;
};

/* In the live phase, once. [jvmti] */
void th_walk_memo_start(const struct th_hotspot *hotspot);

/*
 * The key of the frames of the calling thread from the anchor of its JavaThread on; 0: it has
 * none.  Reads the thread's own stack. [in-malloc]
 */
uint64_t th_walk_memo_key(const char *thread);

/*
 * The remembered answer, with at most `capacity` frames; -1: there is none, or it has to be
 * checked. [in-malloc]
 */
jint th_walk_memo_find(uint64_t key, struct th_call_frame *frames, uint32_t capacity);

/* The VM's answer, complete and with all methods.  Ignored without a key. [in-malloc] */
void th_walk_memo_store(uint64_t key, const struct th_call_frame *frames, uint32_t count);

#endif
