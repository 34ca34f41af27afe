/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up classes of the boot loader without loading them. */
#ifndef TH_JVMTI_VM_LOADED_CLASS_H
#define TH_JVMTI_VM_LOADED_CLASS_H

#include <jni.h>

/* libjvm's JVM_FindLoadedClass; NULL: libjvm has no such function, and no class is found. */
typedef jclass th_find_loaded_class(JNIEnv *env, jobject loader, jstring name);

/* Once, before the first look-up. [any] */
void th_loaded_class_init(th_find_loaded_class *find);

/*
 * The class of that name ("java.nio.Bits") as a local reference; NULL when it is not loaded.
 * Leaves no exception pending. [jvmti]
 */
jclass th_loaded_class_find(JNIEnv *env, const char *name);

#endif
