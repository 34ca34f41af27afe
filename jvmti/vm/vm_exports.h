/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjvm exports besides its tables (hotspot.h): functions for its class library, and the
 * performance counters, which jstat reads from hsperfdata.
 */
#ifndef TH_JVMTI_VM_VM_EXPORTS_H
#define TH_JVMTI_VM_VM_EXPORTS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* NULL: libjvm has no function of that name. */
struct th_vm_functions {
	jlong (*total_memory)(void); /* bytes of the Java heap */
	jlong (*free_memory)(void);
	jlong (*max_memory)(void);
	jclass (*find_loaded_class)(JNIEnv *env, jobject loader, jstring name);
	jint (*constant_pool_entries)(JNIEnv *env, jclass type);
	jboolean (*is_hidden)(JNIEnv *env, jclass type); /* JDK 15 and later */
	/* up to 24; later it is a field of java.lang.Class */
	jobject (*domain_of)(JNIEnv *env, jclass type);
};

/* Frees what JVMTI has allocated; NULL is legal. [jvmti] */
static inline void
th_vm_free(jvmtiEnv *jvmti, void *memory)
{
	(*jvmti)->Deallocate(jvmti, memory);
}

/*
 * What the VM knows of a thread, without the references; false: it has ended.  The name is to be freed.
 * [jvmti]
 */
bool th_vm_thread_info(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jvmtiThreadInfo *ret);

/* Written before the VM is live. */
extern struct th_vm_functions th_vm_functions __attribute__((visibility("hidden")));

/* Looks them up. */
void th_vm_functions_find(const struct th_hotspot_source *source);

/*
 * A class of the boot loader ("java.nio.Bits") as a local reference, without loading it; NULL when
 * it is not loaded.  Leaves no exception pending. [jvmti]
 */
jclass th_loaded_class_find(JNIEnv *env, const char *name);

/* A field of a class of the boot loader, which is loaded ("java/lang/Thread"); NULL: it has none. [jvmti] */
jfieldID th_vm_field(JNIEnv *env, const char *type, const char *name, const char *signature);

/*
 * Bytes of the Java heap; false: this VM does not export them, or the heap was resized again and again
 * meanwhile.  May wait for a safepoint. [jvmti]
 */
bool th_vm_heap_use(uint64_t *committed_ret, uint64_t *used_ret);

/*
 * Finds the counters, in the process's own memory.  With -XX:-UsePerfData there are none, and the
 * functions below return NULL.  In the live phase. [jvmti]
 */
void th_perf_data_find(const struct th_hotspot *hotspot);
bool th_perf_data_exists(void);

/* The counter of that name; NULL: there is none. */
const int64_t *th_perf_data_long(const char *name);
const char *th_perf_data_text(const char *name);

/*
 * Names of the VM and its class library that the library uses and that this VM lacks: one note in the
 * log, so that the first recording on a new release lists them (scripts/hotspot-names).  `type` is the
 * type or class that should have it; NULL: none.  Not from the malloc path.
 */
void th_missed_names_add(const char *type, const char *name);

/* Writes the note, if anything is missed; names added later get a note each. */
void th_missed_names_log(void);

#endif
