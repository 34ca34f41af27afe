/* SPDX-License-Identifier: Apache-2.0 */
/* Class loaders that live as long as the VM: boot, the system class loader and its parents. */
#ifndef TH_JVMTI_NAMES_PERMANENT_LOADERS_H
#define TH_JVMTI_NAMES_PERMANENT_LOADERS_H

#include <jni.h>
#include <stdbool.h>

/* Finds them, once in the life of the process. [jvmti] */
void th_permanent_loaders_find(JNIEnv *env);

/* NULL is the boot loader. [jvmti] */
bool th_permanent_loaders_have(JNIEnv *env, jobject loader);

#endif
