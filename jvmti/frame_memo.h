/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the methods of frames that AsyncGetCallTrace has told.
 *
 * AsyncGetCallTrace decodes the debug information of each frame, which takes two thirds of the time
 * of a sample.  A frame of compiled code is determined by its pc and its compilation: they stand for
 * the same methods and bytecode indexes, inlined ones included, as long as the compilation exists.
 * An interpreted frame is determined by its method and bytecode pointer.  Where the frames are on
 * the stack is found in a tenth of the time, so a stack all of whose frames have been met before
 * needs no call of the VM.  An answer of the VM is divided between its frames by the methods that
 * they were compiled for, as far as there is only one way to do so.
 *
 * Stacks with frames that do not determine their methods are left to the VM: frames that will be
 * deoptimized, whose return address no longer tells where they are, mounted virtual threads, stubs.
 * A compilation has a number that no later one gets, and an interpreted frame is remembered
 * together with the number of classes that were unloaded, so that memory that is used again is no
 * method of before.  One stack in 64 is asked for again, and the first difference ends the use of
 * all.
 */
#ifndef TH_JVMTI_FRAME_MEMO_H
#define TH_JVMTI_FRAME_MEMO_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/* A frame of AsyncGetCallTrace. */
struct th_call_frame {
	jint bci;
	jmethodID method;
};

/*
 * In the live phase, once.  `unloaded`: the VM's count of unloaded classes; NULL: unknown, and
 * interpreted frames are not remembered. [jvmti]
 */
void th_frame_memo_start(const struct th_hotspot *hotspot, const int64_t *unloaded);

/*
 * The frames of the calling thread, from the anchor of its JavaThread on; their number, at most
 * `capacity` - 1, or -1: the VM has to be asked. [in-malloc]
 */
jint th_frame_memo_find(const char *thread, struct th_call_frame *frames, uint32_t capacity);

/*
 * A hash of what determines the method and the bytecode of an interpreted frame, by its frame
 * pointer, on the stack from `sp` to `base`; 0: it cannot be one, or is not remembered.
 * [in-malloc]
 */
uint64_t th_frame_memo_interpreted(uintptr_t fp, uintptr_t sp, uintptr_t base);

/* Learns from the VM's answer for the same frames, which must be complete. [in-malloc] */
void
th_frame_memo_learn(const char *thread, const struct th_call_frame *frames, uint32_t count);

#endif
