/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of a frame of compiled code, inlined ones included, from the debug information that the
 * VM keeps with the code (pcDesc.hpp, scopeDesc.cpp, debugInfo.hpp).
 */
#ifndef TH_JVMTI_STACKS_SCOPES_H
#define TH_JVMTI_STACKS_SCOPES_H

#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* A method in a frame. */
struct th_scope {
	uintptr_t method; /* Method* */
	int32_t bci;      /* -1: at the entry of a synchronized method */
};

/*
 * The methods at the return address `pc` in the nmethod `blob`, the innermost first; their number, 0:
 * unknown, or more than `capacity`.  All reads are checked. [in-malloc]
 */
uint32_t th_scopes_read(const struct th_hotspot *hotspot, unsigned byte_base, uintptr_t blob,
	uintptr_t pc, struct th_scope *scopes, uint32_t capacity);

#endif
