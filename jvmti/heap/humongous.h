/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows sampled humongous objects of G1 by address.
 *
 * A humongous object is at the start of a region of its own, does not move, and its region is
 * reclaimed in a pause.  An object has died if, at the end of a pause, its region no longer
 * starts a humongous object.  No reference is held, so the collector works as it does without
 * the library.  A region cannot be reused before the VM has reported the end of the pause.
 *
 * JDK 22 and later move humongous objects in the full collection that is the last resort of a
 * failing allocation; a followed object is then reported as dead.
 */
#ifndef TH_JVMTI_HEAP_HUMONGOUS_H
#define TH_JVMTI_HEAP_HUMONGOUS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/*
 * Humongous objects followed at once.  G1 chooses its region size so that there are about 2,048
 * regions, and each humongous object occupies at least one.
 */
#define TH_HUMONGOUS_MAX 2048

/*
 * Maps the table; false: out of memory, or the VM does not export its table of regions.
 * Humongous objects are then not followed.
 */
bool th_humongous_init(const struct th_hotspot *hotspot);

/*
 * Whether `object` is humongous and so must not be followed by a reference.  `object` is a
 * local reference, which keeps it alive during the call. [jvmti]
 */
bool th_humongous_is(jobject object, uint64_t size);

/* Follows a humongous object; false: the table is full or absent. [jvmti] */
bool th_humongous_follow(jobject object, uint64_t sample);

/*
 * At the end of a pause: finds the objects that have died. [on the VM's thread, at the
 * safepoint]
 */
void th_humongous_look(uint64_t now);

/*
 * Calls `report` for each object found dead since the last call, and removes it. [agent-thread]
 */
void th_humongous_reap(void (*report)(uint64_t sample, uint64_t time));

/* Calls `visit` with the address and the sample of each followed object. [agent-thread] */
void
th_humongous_each(void (*visit)(uintptr_t address, uint64_t sample, void *data), void *data);

/* Removes the objects that are not kept at `level` (th_live_keeps()). [agent-thread] */
void th_humongous_thin(uint32_t level);

/* Removes all objects. [agent-thread] */
void th_humongous_release(void);

#endif
