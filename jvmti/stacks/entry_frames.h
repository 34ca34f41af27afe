/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames through which native code calls Java code: that of the VM's call stub, and that of a stub of an
 * upcall of java.lang.foreign.  Each holds the anchor of the next older Java segment, and the registers
 * of its caller.
 */
#ifndef TH_JVMTI_STACKS_ENTRY_FRAMES_H
#define TH_JVMTI_STACKS_ENTRY_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"
#include "jvmti/stacks/runtime_stub.h"
#include "unify/sample/capture.h"

/* The stack of the calling thread, from the current frame on. */
struct th_stack_part {
	const char *thread; /* JavaThread */
	uintptr_t low;
	uintptr_t base;
};

struct th_entry_frame {
	struct th_java_frame older; /* the next older Java segment; sp 0: none */
	struct th_registers native; /* of the caller */
};

/* Whether a frame of Java code can begin at `address`.  Any value. [in-malloc] */
bool th_is_frame_address(const struct th_stack_part *stack, uintptr_t address);

/* The frame of the call stub by its frame pointer; false: it is none. [in-malloc] */
bool th_call_stub_read(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	uintptr_t fp, struct th_entry_frame *ret);

/*
 * The same of the frame `frame` if its pc is in the stub of an upcall; takes 1 us, not to be asked for
 * each frame. [in-malloc]
 */
bool th_upcall_stub_read(const struct th_hotspot *hotspot, const struct th_stack_part *stack,
	const struct th_java_frame *frame, struct th_entry_frame *ret);

#endif
