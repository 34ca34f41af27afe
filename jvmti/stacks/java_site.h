/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of Java code that allocates (site_rates.h, stack_memo.h), read from the stack without the VM:
 * return addresses in compiled code, method and bytecode of interpreted frames, and the depth.
 */
#ifndef TH_JVMTI_STACKS_JAVA_SITE_H
#define TH_JVMTI_STACKS_JAVA_SITE_H

#include <stdbool.h>

#include "jvmti/vm/hotspot.h"
#include "unify/sample/site_rates.h"

/*
 * In the live phase, once, after th_java_frames_start().  False: the VM does not export what it
 * takes, and there are no keys. [jvmti]
 */
bool th_java_site_start(const struct th_hotspot *hotspot, bool has_virtual_threads);

/*
 * The keys of the youngest Java code below native code of the calling thread, whose JavaThread is
 * `thread`; `stack` is TH_NO_JAVA_CODE if it has none, and 0 if it is not known. [in-malloc]
 */
struct th_site_key th_java_site_callers(const char *thread);

/*
 * The same for an object that the thread allocates, whether Java code does or native code that it
 * called; all are 0 if there are no keys. [in-malloc]
 */
struct th_site_key th_java_site_of_object(const char *thread);

#endif
