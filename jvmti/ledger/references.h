/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of JNI global and weak global references, read from HotSpot's own storage of them,
 * which counts them: no call is intercepted.
 */
#ifndef TH_JVMTI_LEDGER_REFERENCES_H
#define TH_JVMTI_LEDGER_REFERENCES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

/* atomic: weak references of this library, which are not the program's */
extern uint64_t th_references_own;

/*
 * Create and delete a weak reference of this library.  As the functions of JNI; under the guard.
 * [jvmti]
 */
static inline jweak
th_references_new_weak(JNIEnv *env, jobject object)
{
	jweak reference = (*env)->NewWeakGlobalRef(env, object);

	if (reference)
		__atomic_fetch_add(&th_references_own, 1, __ATOMIC_RELAXED);
	return reference;
}

static inline void
th_references_delete_weak(JNIEnv *env, jweak reference)
{
	if (!reference)
		return;
	__atomic_fetch_sub(&th_references_own, 1, __ATOMIC_RELAXED);
	(*env)->DeleteWeakGlobalRef(env, reference);
}

/* Addresses of the VM's pointers to its OopStorages; NULL: not exported. */
struct th_references_vm {
	const uintptr_t *globals;
	const uintptr_t *weaks;
};

/*
 * Finds the word of an OopStorage that counts, by creating and deleting some references, and logs
 * the first figures.  False: none or several words count; nothing is logged then.  In the live phase.
 * [jvmti]
 */
bool th_references_start(const struct th_references_vm *vm, JNIEnv *env);

/* Writes a JNI_REFERENCES if a number has changed since the last one. [agent-thread] */
void th_references_log(void);

#endif
