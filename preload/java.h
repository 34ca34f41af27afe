/* SPDX-License-Identifier: Apache-2.0 */
/* Where the Java VM appears: JNI_CreateJavaVM and the agent's entry points. */
#ifndef TH_PRELOAD_JAVA_H
#define TH_PRELOAD_JAVA_H

#include <stdbool.h>

/* Remembers the JNI_CreateJavaVM that a program is about to call; returns ours. [any] */
void *th_java_wrap(void *create_java_vm);

/* Whether `function` is our JNI_CreateJavaVM. [any] */
bool th_java_is_wrapper(const void *function);

#endif
