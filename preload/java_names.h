/* SPDX-License-Identifier: Apache-2.0 */
/* New names of threads of the Java VM. */
#ifndef TH_PRELOAD_JAVA_NAMES_H
#define TH_PRELOAD_JAVA_NAMES_H

#include <stdbool.h>

/*
 * Whether a loaded VM, or a future one, calls our JVM_SetNativeThreadName, which notifies the
 * agent. [jvmti]
 */
bool th_java_names_are_told(void);

#endif
