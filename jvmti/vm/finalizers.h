/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreachable objects that wait for finalize(): the queue of java.lang.ref.Finalizer.  Their native
 * memory stays until the one thread that empties it gets to them.
 */
#ifndef TH_JVMTI_VM_FINALIZERS_H
#define TH_JVMTI_VM_FINALIZERS_H

#include <jvmti.h>
#include <stdint.h>

/* Writes a POOL for the breakdown: their number, and the class of most; none if few wait. [agent-thread] */
void th_finalizers_log(jvmtiEnv *jvmti, JNIEnv *env, uint32_t account);

#endif
