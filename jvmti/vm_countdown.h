/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's countdown to a thread's next sample, as far as it can be had.
 *
 * Left to itself HotSpot draws it from one generator for all threads, which every new thread
 * seeds with its own address: threads that start one after the other at one address draw the same
 * number, all of them.  It takes the logarithm from a table of 1024 entries, so that of a megabyte
 * only every few hundredth byte can be hit: small objects that follow large ones in a loop are
 * hit always or never.  JDK 11 takes off what the last object overshot.  So we draw, and write
 * the draw over the VM's own in the callback: what the VM makes of it comes after that.
 *
 * The field follows Thread::_allocated_bytes (thread.hpp, 11 to 25), which the VM tells.  That it
 * is what it should be is proved on the calling thread before anything is written.
 */
#ifndef TH_JVMTI_VM_COUNTDOWN_H
#define TH_JVMTI_VM_COUNTDOWN_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/*
 * Looks for the field, with some arrays of 64 KiB (half a megabyte in the mean); false: this VM's
 * own law has to do.  The sampling event must be on, its interval is `interval` afterwards; the
 * guard must be held. [jvmti]
 */
bool th_vm_countdown_find(
	jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, uint64_t interval);

/*
 * The VM samples the allocation that takes up the `bytes`-th byte from now, by its own account.
 * `thread` is the calling thread's own JavaThread.  After th_vm_countdown_find(). [jvmti]
 */
void th_vm_countdown_set(char *thread, uint64_t bytes);

#endif
