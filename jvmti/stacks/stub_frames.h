/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the VM's stubs between Java code and native code.
 *
 * Runtime stubs: compiled code calls them to enter the VM.  The stack of each allocation that compiled code
 * leaves to the VM begins with one (c1_Runtime1.cpp, Compile::Code_Gen).  Their frames have the layout of
 * compiled code, and no methods.
 *
 * Entry frames, through which native code calls Java code: that of the VM's call stub, and that of a stub of
 * an upcall of java.lang.foreign.  Each holds the anchor of the next older Java segment, and the registers
 * of its caller.
 *
 * Critical downcalls of java.lang.foreign (Linker.Option.critical) leave the thread in the state of Java code,
 * without an anchor at which a walk begins.  It then begins at the Java code that called the downcall's stub,
 * where the native walk ended: a RuntimeStub with a frame of constant size
 * (DowncallLinker::StubGenerator::generate).  No safepoint or handshake can take place meanwhile, and no code
 * on the stack is freed.  Other C code that is called in the state of Java code, such as leaf calls of the VM,
 * is left alone: compiled code and the interpreter need not be at a place that describes their frames.
 */
#ifndef TH_JVMTI_STACKS_STUB_FRAMES_H
#define TH_JVMTI_STACKS_STUB_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"
#include "unify/sample/capture.h"

/* A frame at a call, in the form of a JavaFrameAnchor. */
struct th_java_frame {
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t pc;
};

/*
 * The caller of the frame of a stub at `sp` of so many words; false: it cannot be read.  All reads are
 * checked. [in-malloc]
 */
bool th_stub_caller(uintptr_t sp, uint32_t words, struct th_java_frame *ret);

/*
 * The frame of the Java code that called the downcall's stub, if `registers` are those of such a
 * stub at its call.  To be asked in the state of Java code only.  All reads are checked; takes 1 us.
 * [in-malloc]
 */
bool th_critical_downcall_caller(const struct th_hotspot *hotspot,
	const struct th_registers *registers, struct th_java_frame *ret);

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
