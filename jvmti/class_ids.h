/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which classes get the jmethodIDs of their methods before one of them occurs in a stack.
 *
 * AsyncGetCallTrace returns the jmethodID of a method and cannot create one.  HotSpot up to JDK 25
 * never frees the jmethodIDs of a class that is unloaded, so they are made in advance only
 *
 * - for permanent classes: those of the boot loader, of the system class loader and its parents,
 *   and of loaders that were twice found alive after classes had been unloaded;
 * - for the first classes of other loaders, and hidden ones, up to a bound in bytes for the whole
 *   life of the process, which is more than most programs ever need.
 *
 * Methods of other classes have no name in native stacks until GetStackTrace finds them in a stack
 * of the Java heap and creates their jmethodIDs.
 */
#ifndef TH_JVMTI_CLASS_IDS_H
#define TH_JVMTI_CLASS_IDS_H

#include <jvmti.h>

/* Trusts the permanent loaders, and prepares the classes that are loaded.  Once. [jvmti] */
void th_class_ids_start(jvmtiEnv *jvmti, JNIEnv *env);

/* A class was linked. [jvmti] */
void th_class_ids_prepare(jvmtiEnv *jvmti, JNIEnv *env, jclass type);

/*
 * Once a second: while there are new frames without a name, checks which loaders outlive others.
 * [agent-thread]
 */
void th_class_ids_review(jvmtiEnv *jvmti, JNIEnv *env);

#endif
