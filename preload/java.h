/* SPDX-License-Identifier: Apache-2.0 */
/* Where the Java VM appears: JNI_CreateJavaVM and the agent's entry points. */
#ifndef TH_PRELOAD_JAVA_H
#define TH_PRELOAD_JAVA_H

#include <stdbool.h>

/*
 * Our wrapper of a JNI_CreateJavaVM that a program is about to call, always the same one; the
 * function itself if a process looks up more of them than there are wrappers. [any]
 */
void *th_java_wrap(void *create_java_vm);

/* Whether `function` is the JNI_CreateJavaVM that we export. [any] */
bool th_java_is_wrapper(const void *function);

#endif
