/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Java methods: small ids for jmethodIDs in stacks, and their names for the log.
 *
 * Ids are given inside malloc, lock-free; the agent thread looks the names up soon after first
 * sight, because a class may be unloaded.
 */
#ifndef TH_JVMTI_METHODS_H
#define TH_JVMTI_METHODS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* Distinct methods; frames of more are shown without a name, and counted. */
#define TH_METHODS_MAX (1u << 17)

/* Maps the table; false: no memory. */
bool th_methods_init(void);

/* The id (1..) of a method; 0 for NULL or when the table is full. [in-malloc] */
uint32_t th_methods_id(jmethodID method);

/*
 * Frames so far for which th_methods_id() was called with NULL: AsyncGetCallTrace has no jmethodID
 * of a method unless it was created before. [any]
 */
uint32_t th_methods_nameless(void);

/*
 * Creates the jmethodIDs of a class, and finds its methods that mount virtual threads if a class of
 * that signature has such (NULL: it has none).  Returns how many it has. [jvmti]
 */
uint32_t th_methods_prepare(jvmtiEnv *jvmti, jclass type, const char *signature);

/* What a method is to the stack of a virtual thread. */
enum th_method_mount {
	TH_MOUNT_NONE,
	TH_MOUNT_BASE, /* stands below the thread's own frames (Continuation.enter and its like) */
	TH_MOUNT_ABOVE, /* stands between those and the thread's own; platform threads have it too */
};

/* [in-malloc] */
enum th_method_mount th_methods_mount(uint32_t id);

/* Whether methods wait for their names. [any] */
bool th_methods_are_pending(void);

/* Writes the METHOD records of all that wait.  One thread at a time. [agent-thread] */
void th_methods_log_pending(jvmtiEnv *jvmti, JNIEnv *env);

#endif
