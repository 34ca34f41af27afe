/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the VM's runtime stubs, which compiled code calls to enter the VM.
 *
 * The stack of each allocation that compiled code leaves to the VM begins with one (c1_Runtime1.cpp,
 * Compile::Code_Gen).  Their frames have the layout of compiled code, and no methods.
 */
#ifndef TH_JVMTI_STACKS_RUNTIME_STUB_H
#define TH_JVMTI_STACKS_RUNTIME_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* A frame at a call, in the form of a JavaFrameAnchor. */
struct th_java_frame {
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t pc;
};

/*
 * Whether `pc` is in a stub that th_runtime_stub_caller() has found before and remembers.
 * [in-malloc]
 */
bool th_runtime_stub_is_known(uintptr_t pc);

/*
 * The caller of `frame` if that is a runtime stub's frame (`fp` is not needed).  False: it is
 * not, or the VM does not export enough of its layout.  All reads are checked. [in-malloc]
 */
bool th_runtime_stub_caller(const struct th_hotspot *hotspot, const struct th_java_frame *frame,
	struct th_java_frame *caller_ret);

#endif
