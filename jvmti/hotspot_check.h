/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of the VM say, held against what is known otherwise.  A field that does not fit
 * becomes unknown, which switches off what needs it (th_hotspot_has_...).
 */
#ifndef TH_JVMTI_HOTSPOT_CHECK_H
#define TH_JVMTI_HOTSPOT_CHECK_H

#include "jvmti/hotspot.h"

/* What did not fit. */
enum th_hotspot_fault {
	TH_HOTSPOT_STATE = 1, /* the caller, in native code, is not in the state "native" */
	TH_HOTSPOT_CODE_CACHE = 2, /* a stub that is known lies outside the code cache */
	TH_HOTSPOT_STACK = 4,      /* the caller's frame is not on the stack of its thread */
	TH_HOTSPOT_TLAB = 8,       /* a TLAB that ends before its start, bytes beyond reason */
};

/*
 * Checks the fields of `hotspot` by the calling thread, which is in native code, once its JNIEnv
 * has been found; returns the faults, 0 if there are none. [jvmti]
 */
unsigned th_hotspot_check(struct th_hotspot *hotspot, JNIEnv *env);

#endif
