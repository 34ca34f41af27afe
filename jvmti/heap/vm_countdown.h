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
 * Up to 24 the VM also counts wrongly (JDK-8356372): an object outside of the TLAB is compared
 * with the countdown as if the TLAB had not been used since the last sample, and moves the TLAB's
 * sample point back by what was used; a TLAB that is retired counts in full.  The VM then samples
 * too early, or misses the object in which the countdown ends.  Too early is harmless: the caller
 * knows the exact bytes and sets the rest of the countdown again.  What is set is therefore the
 * longest step that the VM cannot overrun (vm_countdown.c).
 *
 * The field follows Thread::_allocated_bytes (thread.hpp, 11 to 25), whose offset the VM
 * exports.  It is verified on the calling thread before anything is written.
 */
#ifndef TH_JVMTI_HEAP_VM_COUNTDOWN_H
#define TH_JVMTI_HEAP_VM_COUNTDOWN_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"
#include "jvmti/threads/thread_bytes.h"

/*
 * Finds the field, by allocating arrays of up to 8 KiB (half a megabyte on average; 8 MiB at most).
 * False: it was not found, or the VM does not export what else is needed; the VM then draws.  The
 * sampling event must be enabled; its interval is `interval` afterwards.  The guard must be held.
 * [jvmti]
 */
bool th_vm_countdown_find(
	jvmtiEnv *jvmti, JNIEnv *env, const struct th_hotspot *hotspot, uint64_t interval);

/* A TLAB, in bytes. */
struct th_tlab {
	uint64_t free;         /* 0: there is none */
	uint64_t desired_size; /* of the next, which may be smaller */
};

/*
 * The longest countdown, up to JDK 24, with which the VM calls at the latest at the object that
 * contains the `bytes`-th byte from now (at least 1), whatever is allocated until then.  Exception:
 * the desired size of TLABs grows meanwhile.  [any]
 */
uint64_t th_vm_countdown_step(const struct th_tlab *tlab, uint64_t bytes);

/*
 * Where the TLAB has to end so that the VM calls after `countdown` bytes; 0: not within it.  Up to
 * JDK 16 only.  [any]
 */
uint64_t th_vm_countdown_sample_end(const struct th_thread_bytes *tlab, uint64_t countdown);

/*
 * Makes the VM sample the allocation that contains the `bytes`-th byte from now (at least 1), or,
 * up to JDK 24, an earlier one: the caller then sets what is left of the countdown again.  In a
 * callback of the sampling event no other allocation comes between; at another time the VM may
 * miss the first countdown.  `thread` is the calling thread's own JavaThread.  After
 * th_vm_countdown_find().  [jvmti]
 */
void th_vm_countdown_set(char *thread, uint64_t bytes);

#endif
