/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts class loaders by the stack at which they defined their first class (tally.h), with
 * their classes and an estimate of their metaspace, which is freed with the loader.  The boot
 * loader, the system class loader and its parents live as long as the VM and are left out.
 *
 * A hidden class of these, which may be unloaded alone, counts like a loader with one class;
 * one of another loader belongs to that.
 *
 * Loaders are known by their identity hash code and followed by weak references.  No collector
 * unloads a class in a young collection, so such a reference keeps nothing alive that would
 * otherwise be freed.  Their number is bounded: beyond it one of 2^level loaders is followed,
 * chosen by the hash.
 */
#ifndef TH_JVMTI_NAMES_CLASS_LOADERS_H
#define TH_JVMTI_NAMES_CLASS_LOADERS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/* After th_permanent_loaders_find(). */
void th_class_loaders_start(void);

/* A class was defined by the calling thread, not yet linked. [jvmti] */
void th_class_loaders_defined(jvmtiEnv *jvmti, JNIEnv *env, jclass type);

/* Every turn: keeps the table from getting full. [agent-thread] */
void th_class_loaders_turn(JNIEnv *env);

/*
 * After a collection: finds dead loaders; `pause_ns` as for th_live_objects_bound().
 * [agent-thread]
 */
void th_class_loaders_reap(JNIEnv *env, uint64_t pause_ns);

/*
 * Calls `visit` with each followed loader, without hidden classes: a weak reference to it, the stack at
 * which it defined its first class, and the id of its class. [agent-thread]
 */
typedef void th_class_loaders_visit(jweak reference, uint32_t stack, uint32_t type, void *data);
void th_class_loaders_each(th_class_loaders_visit *visit, void *data);

/* Writes changed figures to the log. [any] */
void th_class_loaders_log(void);

/* At the end of the recording: deletes all references. [agent-thread] */
void th_class_loaders_release(JNIEnv *env);

#endif
