/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the Java frames of the calling thread without a call of the VM: frames of compiled code by the
 * size of their frames, with the inlined methods from the debug information (vm_method.h); interpreted ones
 * by their frame pointers; from one Java segment to the next older one by stub_frames.h.
 * Nothing of the VM is written, and no jmethodID is needed.
 *
 * What a frame stands for is remembered: one of compiled code is determined by its pc and its
 * compilation, which has a number that no later one gets; an interpreted one by its method and bytecode
 * pointer, together with the number of classes that were unloaded, so that memory that is used again is
 * no method of before.
 *
 * Reads of a walk stay between the stack pointer of the youngest frame and the base of the stack, or are
 * of a blob of the code cache whose place was found with checked reads, and whose memory is never
 * unmapped; all others are checked (safe_read.h).
 */
#ifndef TH_JVMTI_STACKS_JAVA_FRAMES_H
#define TH_JVMTI_STACKS_JAVA_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"
#include "jvmti/stacks/stub_frames.h"
#include "unify/sample/capture.h"

/* Methods of one frame: inlined 15 deep (MaxInlineLevel), more of method handles. */
#define TH_FRAME_METHODS_MAX 64

/*
 * In the live phase, for each recording.  `unloaded`: the VM's count of unloaded classes; NULL: unknown,
 * and interpreted frames are not remembered. [jvmti]
 */
void th_java_frames_start(const struct th_hotspot *hotspot, const int64_t *unloaded);

/* A frame on the stack, and the walk to its callers. */
struct th_frame_walk {
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t pc;
	const char *thread; /* JavaThread */
	uintptr_t base;     /* of the stack */
	/* The current frame. */
	uint64_t key; /* 0: not remembered */
	uintptr_t blob;
	uint32_t words; /* of a compiled frame; 0: interpreted */
	bool is_native; /* wrapper of a native method */
};

enum th_frame_step {
	TH_STEP_FRAME,   /* to the caller */
	TH_STEP_SEGMENT, /* the same, across native code, whose registers are returned */
	TH_STEP_END,     /* across native code, to the base of the stack: no Java frames */
	TH_STEP_UNKNOWN, /* the caller is no frame of Java code that can be walked */
};

/*
 * To the youngest Java frame of the calling thread: that of the anchor, or `top`, below which it has
 * called C without one.  False: it cannot be walked. [in-malloc]
 */
bool th_frame_walk_begin(
	struct th_frame_walk *walk, const char *thread, const struct th_java_frame *top);

/*
 * The frame words of the methods of the current frame, the innermost first; their number, 0: unknown.
 * Of methods without an id (th_methods_id()) the words have none. [in-malloc]
 */
uint32_t
th_frame_walk_methods(const struct th_frame_walk *walk, uint64_t words[TH_FRAME_METHODS_MAX]);

/* To the caller; `native_ret` is set with TH_STEP_SEGMENT and TH_STEP_END. [in-malloc] */
enum th_frame_step
th_frame_walk_next(struct th_frame_walk *walk, struct th_registers *native_ret);

/*
 * A hash of what determines the method and the bytecode of an interpreted frame, by its frame
 * pointer, on the stack from `sp` to `base`; 0: it cannot be one, or is not remembered.
 * [in-malloc]
 */
uint64_t th_java_frames_interpreted(uintptr_t fp, uintptr_t sp, uintptr_t base);

#endif
