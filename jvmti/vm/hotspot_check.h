/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the VM's exported tables against facts known from other sources.  A field that fails
 * the check becomes unknown, which disables the features that need it (th_hotspot_has_...).
 */
#ifndef TH_JVMTI_VM_HOTSPOT_CHECK_H
#define TH_JVMTI_VM_HOTSPOT_CHECK_H

#include "jvmti/vm/hotspot.h"

/* The checks that failed. */
enum th_hotspot_fault {
	TH_HOTSPOT_STATE = 1, /* the caller, in native code, is not in the state "native" */
	TH_HOTSPOT_CODE_CACHE = 2, /* a known stub lies outside the code cache */
	TH_HOTSPOT_STACK = 4,      /* the caller's frame is not on its thread's stack */
	/* a TLAB ends before its start, or byte counts are implausible */
	TH_HOTSPOT_TLAB = 8,
};

/*
 * Checks the fields of `hotspot` on the calling thread, which is in native code and whose
 * JNIEnv has been found.  Returns the faults; 0: none. [jvmti]
 */
unsigned th_hotspot_check(struct th_hotspot *hotspot, JNIEnv *env);

#endif
