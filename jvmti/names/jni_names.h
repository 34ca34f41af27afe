/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the VM's JNI functions, for reports about a VM without symbol tables. */
#ifndef TH_JVMTI_NAMES_JNI_NAMES_H
#define TH_JVMTI_NAMES_JNI_NAMES_H

#include <jni.h>

/* Writes a SYMBOL record, jni_NAME, for each function in the table of `env`. [jvmti] */
void th_jni_names_log(JNIEnv *env);

#endif
