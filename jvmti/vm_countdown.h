/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's countdown to a thread's next sample.
 *
 * HotSpot draws it from one generator for all threads, which every new thread seeds with its
 * own address: threads that start in turn at the same address draw the same number.  It takes
 * the logarithm from a table of 1024 entries, so of a megabyte only one in several hundred
 * bytes can be hit: small objects that follow large ones in a loop are hit always or never.
 * JDK 11 subtracts the overshoot of the last object.  The library therefore draws the countdown
 * itself and overwrites the VM's draw in the callback, after which the VM uses it.
 *
 * The field follows Thread::_allocated_bytes (thread.hpp, 11 to 25), whose offset the VM
 * exports.  The field is verified on the calling thread before anything is written.
 */
#ifndef TH_JVMTI_VM_COUNTDOWN_H
#define TH_JVMTI_VM_COUNTDOWN_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/*
 * Finds the field, by allocating arrays of 64 KiB (half a megabyte on average); false: not
 * found, and the VM's own draws are used.  The sampling event must be enabled; its interval is
 * `interval` afterwards.  The guard must be held. [jvmti]
 */
bool th_vm_countdown_find(
	jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, uint64_t interval);

/*
 * Makes the VM sample the allocation that contains the `bytes`-th byte from now, by the VM's
 * byte count.  `thread` is the calling thread's own JavaThread.  After th_vm_countdown_find().
 * [jvmti]
 */
void th_vm_countdown_set(char *thread, uint64_t bytes);

#endif
