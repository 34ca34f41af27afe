/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java methods: small ids for jmethodIDs in stacks, and their names for the log.
 *
 * Ids are assigned inside malloc, lock-free.  The agent thread looks up the names soon after a
 * method first occurs, because its class may be unloaded.
 */
#ifndef TH_JVMTI_METHODS_H
#define TH_JVMTI_METHODS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* Distinct methods; frames of further methods have no name and are counted. */
#define TH_METHODS_MAX (1u << 17)

/* Maps the table; false: out of memory. */
bool th_methods_init(void);

/* For another recording: forgets all methods.  No capture is in flight. */
void th_methods_restart(void);

/* The id (1..) of a method; 0 for NULL or when the table is full. [in-malloc] */
uint32_t th_methods_id(jmethodID method);

/* Loads the cache line that th_methods_id() will need, without waiting for it. [in-malloc] */
void th_methods_prefetch(jmethodID method);

/*
 * Frames so far for which th_methods_id() was called with NULL: AsyncGetCallTrace returns a
 * jmethodID only if it was created before. [any]
 */
uint32_t th_methods_nameless(void);

/*
 * Creates the jmethodIDs of a class, and finds its methods that mount virtual threads if
 * `signature` names one of the classes that have them (NULL: not looked for).  Returns the
 * number of methods. [jvmti]
 */
uint32_t th_methods_prepare(jvmtiEnv *jvmti, jclass type, const char *signature);

/* The role of a method in the stack of a virtual thread. */
enum th_method_mount {
	TH_MOUNT_NONE,
	TH_MOUNT_BASE, /* below the thread's own frames (Continuation.enter and similar) */
	/* between those and the thread's own frames; also on platform threads */
	TH_MOUNT_ABOVE,
};

/* The role of the method with that id. [in-malloc] */
enum th_method_mount th_methods_mount(uint32_t id);

/* Whether any methods still need their names looked up. [any] */
bool th_methods_are_pending(void);

/* Writes the METHOD records of all pending methods.  One thread at a time. [agent-thread] */
void th_methods_log_pending(jvmtiEnv *jvmti, JNIEnv *env);

#endif
