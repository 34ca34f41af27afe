/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of JNI global and weak global references, read from HotSpot's own storage of them,
 * which counts them: no call is intercepted.
 */
#ifndef TH_JVMTI_VM_REFERENCES_H
#define TH_JVMTI_VM_REFERENCES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

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

/*
 * Cost of a weak reference per pause, in nanoseconds (bench/live-cost): to an old object, of which
 * only the address is used, and to an object allocated since the last pause, whose header is
 * read.
 */
#define TH_REFERENCE_OLD_NS 60
#define TH_REFERENCE_NEW_NS 100
/* Each kind may add 1/PAUSE_PARTS to a pause. */
#define TH_REFERENCE_PAUSE_PARTS 50

/* How many references at `each` nanoseconds are allowed for a pause of `pause_ns`; `least` always are. */
static inline uint64_t
th_references_allowed(uint64_t pause_ns, uint64_t each, uint64_t least)
{
	uint64_t allowed = pause_ns / TH_REFERENCE_PAUSE_PARTS / each;

	return allowed > least ? allowed : least;
}

/*
 * Finds the word of an OopStorage that counts, by creating and deleting some references, and logs
 * the first figures.  `hotspot` stays the caller's.  False: none or several words count; nothing is
 * logged then.  In the live phase.
 * [jvmti]
 */
bool th_references_start(const struct th_hotspot *hotspot, JNIEnv *env);

/* Writes a JNI_REFERENCES if a number has changed since the last one. [agent-thread] */
void th_references_log(void);

#endif
