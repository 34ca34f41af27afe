/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java frames below a critical downcall of java.lang.foreign (Linker.Option.critical).
 *
 * Such a downcall leaves the thread in the state of Java code, without an anchor at which a walk
 * begins.  It then begins at the Java code that called the downcall's stub, where the native walk ended:
 * a RuntimeStub with a frame of constant size (DowncallLinker::StubGenerator::generate).  No safepoint
 * or handshake can take place meanwhile, and no code on the stack is freed.
 *
 * Other C code that is called in the state of Java code, such as leaf calls of the VM, is left
 * alone: compiled code and the interpreter need not be at a place that describes their frames.
 */
#ifndef TH_JVMTI_STACKS_CRITICAL_DOWNCALL_H
#define TH_JVMTI_STACKS_CRITICAL_DOWNCALL_H

#include <stdbool.h>

#include "jvmti/vm/hotspot.h"
#include "jvmti/stacks/runtime_stub.h"
#include "unify/sample/capture.h"

/*
 * The frame of the Java code that called the downcall's stub, if `registers` are those of such a
 * stub at its call.  To be asked in the state of Java code only.  All reads are checked; takes 1 us.
 * [in-malloc]
 */
bool th_critical_downcall_caller(const struct th_hotspot *hotspot,
	const struct th_registers *registers, struct th_java_frame *ret);

#endif
