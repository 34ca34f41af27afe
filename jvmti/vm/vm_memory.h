/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's memory, for breakdowns of resident memory (unify/resident/breakdown.h): the
 * addresses of its heap and compiled code, the use of its pools, and java.nio's counts of
 * buffers outside the heap; and the objects that wait for finalize().
 */
#ifndef TH_JVMTI_VM_VM_MEMORY_H
#define TH_JVMTI_VM_VM_MEMORY_H

#include <jvmti.h>

#include "jvmti/vm/hotspot.h"

struct th_vm_memory_vm {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	const struct th_hotspot *hotspot; /* must remain valid */
	const char *perf_data;            /* PerfMemory::_start, NULL if unknown */
	/* Functions of libjvm; NULL if it has none of that name. */
	jlong (*total_memory)(void);
	jlong (*free_memory)(void);
	jlong (*max_memory)(void);
};

/* Includes the VM in breakdowns from now on.  Once, in the live phase. [jvmti] */
void th_vm_memory_start(const struct th_vm_memory_vm *vm);

/* Stops all queries to the VM. [any] */
void th_vm_memory_stop(void);

#endif
