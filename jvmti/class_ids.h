/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which classes get the jmethodIDs of their methods before a method of theirs is met.
 *
 * AsyncGetCallTrace names a method by its jmethodID and cannot make one.  HotSpot up to JDK 25
 * never frees the jmethodIDs of a class that is unloaded, so they are made in advance only
 *
 * - for classes that stay: those of the boot loader, of the system class loader and its parents,
 *   and of loaders that were found alive after classes had been unloaded, twice;
 * - for the first classes of other loaders, and hidden ones, up to a bound in bytes for the whole
 *   life of the process, which is more than most programs ever need.
 *
 * Methods of other classes have no name in native stacks until GetStackTrace meets them in a stack
 * of the Java heap and makes theirs.
 */
#ifndef TH_JVMTI_CLASS_IDS_H
#define TH_JVMTI_CLASS_IDS_H

#include <jvmti.h>

/* Trusts the loaders that never go, and prepares the classes that are loaded.  Once. [jvmti] */
void th_class_ids_start(jvmtiEnv *jvmti, JNIEnv *env);

/* A class was linked. [jvmti] */
void th_class_ids_prepare(jvmtiEnv *jvmti, JNIEnv *env, jclass type);

/*
 * Once a second: while frames without a name are met, looks which class loaders outlive others.
 * [agent-thread]
 */
void th_class_ids_review(jvmtiEnv *jvmti, JNIEnv *env);

#endif
