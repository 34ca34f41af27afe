/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the VM knows of its own memory, for accounts of the resident set (unify/account.h): where
 * its heap and its compiled code lie, what its pools have in use, and what java.nio counts as
 * buffers outside the heap.
 */
#ifndef TH_JVMTI_VM_MEMORY_H
#define TH_JVMTI_VM_MEMORY_H

#include <jni.h>

#include "jvmti/hotspot.h"

struct th_vm_memory_vm {
	JavaVM *vm;
	const struct th_hotspot *hotspot; /* for good */
	const char *perf_data;            /* PerfMemory::_start, NULL if unknown */
	/* Functions of libjvm, NULL where it has none of that name. */
	jlong (*total_memory)(void);
	jlong (*free_memory)(void);
	jlong (*max_memory)(void);
};

/* Accounts include the VM from now on.  Once, in the live phase. [jvmti] */
void th_vm_memory_start(const struct th_vm_memory_vm *vm);

/* The VM must not be asked any more. [any] */
void th_vm_memory_stop(void);

#endif
