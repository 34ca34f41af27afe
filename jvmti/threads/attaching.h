/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that attach to the VM while it samples objects, in JDK 19 to 21 (JDK-8319935).
 *
 * With the event of sampled objects, the first allocation of a thread gives it a state of JVMTI.
 * For a thread that attaches this is the allocation of its java.lang.Thread, and what later asks for the
 * state of that, as a debugger's SetThreadLocalStorage() does, makes a second.  The first stays in the VM's list for ever, with a pointer to the
 * thread's JavaThread: after the thread has detached each change of an event reads that memory,
 * whoever has it then, and decrements a word of it (_interp_only_mode) that is not 0.
 *
 * Therefore no object is sampled while a thread attaches: the VM's flag for the event is cleared
 * meanwhile.  It is not exported, but is near others that are, and is found by its behaviour.
 */
#ifndef TH_JVMTI_THREADS_ATTACHING_H
#define TH_JVMTI_THREADS_ATTACHING_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* As SetEventNotificationMode() for all threads; false: failed.  All changes go this way. [jvmti] */
bool th_attaching_set_event(jvmtiEnv *jvmti, jvmtiEvent event, bool on);

/*
 * From here on threads attach through this library, if the VM needs it.  The event of sampled
 * objects must be enabled.  False: the flag was not found, and the event must be disabled.  In the
 * live phase, by one thread at a time. [jvmti]
 */
bool th_attaching_begin(JavaVM *vm, jvmtiEnv *jvmti, const struct th_hotspot *hotspot);

/* Threads attach as before. [any] */
void th_attaching_end(JavaVM *vm);

#endif
