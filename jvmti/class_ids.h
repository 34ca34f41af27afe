/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides for which classes jmethodIDs are created before a method occurs in a stack.
 *
 * AsyncGetCallTrace returns the jmethodID of a method but cannot create one.  HotSpot up to JDK
 * 25 never frees the jmethodIDs of an unloaded class.  They are therefore created in advance
 * only
 *
 * - for permanent classes: those of the boot loader, of the system class loader and its
 *   parents, and of loaders found alive twice after classes had been unloaded;
 * - for the first classes of other loaders, hidden ones included, up to a limit in bytes for
 *   the whole life of the process, which is more than most programs need, and a limit in each
 *   second, which is lower once classes are unloaded.
 *
 * Methods of other classes have no name in native stacks until GetStackTrace finds them in a
 * stack of the Java heap and creates their jmethodIDs.
 */
#ifndef TH_JVMTI_CLASS_IDS_H
#define TH_JVMTI_CLASS_IDS_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Records the permanent loaders as trusted, and prepares the classes of these loaders and of those in
 * use (live_loaders.h).  `may_list`: also of all others, and hidden ones; the VM is asked for all loaded
 * classes, here and in later searches, which keeps classes alive that could be unloaded, for
 * some milliseconds.  `unloaded`: the VM's counter of unloaded classes; NULL: it has none, and fewer IDs
 * are not created because of them.  Once for each recording. [jvmti]
 */
void th_class_ids_start(jvmtiEnv *jvmti, JNIEnv *env, bool may_list, const int64_t *unloaded);

/*
 * Whether a loader lives as long as the VM: the boot loader, NULL, the system class loader and
 * its parents.  After th_class_ids_start(). [jvmti]
 */
bool th_class_ids_is_permanent(JNIEnv *env, jobject loader);

/* A class was linked. [jvmti] */
void th_class_ids_prepare(jvmtiEnv *jvmti, JNIEnv *env, jclass type);

/*
 * Once a second: if there are new frames without a name, checks which loaders have survived
 * class unloading. [agent-thread]
 */
void th_class_ids_review(jvmtiEnv *jvmti, JNIEnv *env);

#endif
