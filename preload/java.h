/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points for the Java VM: JNI_CreateJavaVM and the agent's. */
#ifndef TH_PRELOAD_JAVA_H
#define TH_PRELOAD_JAVA_H

#include <stdbool.h>

/*
 * Our wrapper of a JNI_CreateJavaVM that a program is about to call, the same one for each
 * function; the function itself if there are no free wrappers. [any]
 */
void *th_java_wrap(void *create_java_vm);

/* Whether `function` is the JNI_CreateJavaVM exported by this library. [any] */
bool th_java_is_wrapper(const void *function);

#endif
