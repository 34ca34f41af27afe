/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of Java code that allocates (stack_memo.h), read from the stack without the VM: return addresses
 * in compiled code, method and bytecode of interpreted frames, and the depth.
 */
#ifndef TH_JVMTI_STACKS_JAVA_KEY_H
#define TH_JVMTI_STACKS_JAVA_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/*
 * In the live phase, once, after th_java_frames_start().  False: the VM does not export what it
 * takes, and there are no keys. [jvmti]
 */
bool th_java_key_start(const struct th_hotspot *hotspot, bool has_virtual_threads);

/*
 * The key of the youngest Java code below native code of the calling thread, whose JavaThread is
 * `thread`; TH_NO_JAVA_CODE if it has none, 0 if it is not known. [in-malloc]
 */
uint64_t th_java_key_of_callers(const char *thread);

/*
 * The same for an object that the thread allocates, whether Java code does or native code that it
 * called; 0: there is no key. [in-malloc]
 */
uint64_t th_java_key_of_object(const char *thread);

#endif
