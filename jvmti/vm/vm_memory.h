/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's memory, for breakdowns of resident memory (unify/resident/breakdown.h): the
 * addresses of its heap and compiled code, the use of its pools, and java.nio's counts of
 * buffers outside the heap; and the objects that wait for finalize(), whose
 * native memory stays until the one thread that empties their queue gets to them.
 */
#ifndef TH_JVMTI_VM_VM_MEMORY_H
#define TH_JVMTI_VM_VM_MEMORY_H

#include <jvmti.h>

#include "jvmti/vm/hotspot.h"

/* Includes the VM in breakdowns from now on; `hotspot` stays the caller's.  Once, in the live phase. [jvmti] */
void th_vm_memory_start(JavaVM *vm, jvmtiEnv *jvmti, const struct th_hotspot *hotspot);

/* Stops all queries to the VM. [any] */
void th_vm_memory_stop(void);

#endif
