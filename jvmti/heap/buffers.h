/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts unreachable buffers outside the Java heap: their memory is freed only after a
 * collection finds them and their Cleaner runs.
 *
 *   Cleaner.first -> every Cleaner that has not run -> what it will free   = all buffers
 *   roots of the heap -> DirectByteBuffer -> its Cleaner                   = reachable buffers
 *
 * Both are JVMTI heap walks at a safepoint.  The first visits Cleaners only.  The second visits
 * all reachable objects while every thread of the VM is stopped, so it runs on demand only.  It
 * does not follow weak, phantom and final references, which do not keep an object alive; it
 * does follow soft ones.
 */
#ifndef TH_JVMTI_HEAP_BUFFERS_H
#define TH_JVMTI_HEAP_BUFFERS_H

#include <jvmti.h>

#include "unify/shared/log_format.h"

/*
 * Counts the buffers, and writes a BUFFERS event for each kind.  The walk sets its tags in a
 * JVMTI environment of its own, which is disposed afterwards.  TH_CONTROL_FAILED, with a note
 * in the log, if this VM does not support it. [agent-thread]
 */
enum th_control_answer th_buffers_count(JavaVM *vm, JNIEnv *env);

#endif
