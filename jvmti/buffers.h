/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers outside the Java heap that nobody reaches any more, counted: their memory waits for a
 * collection to find them and for the Cleaner that runs right behind it.
 *
 *   Cleaner.first -> every Cleaner that has not run -> what it will free   = all there is
 *   roots of the heap -> DirectByteBuffer -> its Cleaner                   = what is reached
 *
 * Both are walks of JVMTI at a safepoint.  The first looks at Cleaners alone; the second at all
 * objects that are reachable, with every thread of the VM stopped, so it is made when somebody
 * asks for it and never otherwise.  It does not go through weak, phantom and final references: a
 * collection drops what hangs on these alone.  It does go through soft ones.
 */
#ifndef TH_JVMTI_BUFFERS_H
#define TH_JVMTI_BUFFERS_H

#include <jvmti.h>

#include "unify/shared/log_format.h"

/*
 * Counts, and writes a BUFFERS event for each kind.  The tags of the walk live in a JVMTI
 * environment of their own, which is gone afterwards.  TH_CONTROL_FAILED with a note when this VM
 * cannot. [agent-thread]
 */
enum th_control_answer th_buffers_count(JavaVM *vm, JNIEnv *env);

#endif
