/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled humongous objects of G1, followed by their address.
 *
 * A humongous object starts a region of its own and stays there, and the region is given back in a
 * pause.  So the end of a pause shows which of them died in it: those whose region starts no
 * humongous object any more.  No reference is held, so the collector works as it would without the
 * library.  A region cannot be used again before the VM has announced the end of the pause.
 *
 * JDK 22 and later move humongous objects in the full collection that is the last resort of a
 * failing allocation; a followed object is then reported as dead.
 */
#ifndef TH_JVMTI_HUMONGOUS_H
#define TH_JVMTI_HUMONGOUS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/*
 * Humongous objects followed at once.  G1 chooses the size of its regions so that there are some
 * 2,048, and each humongous object has one at least.
 */
#define TH_HUMONGOUS_MAX 2048

/*
 * Maps the table; false: no memory, or the VM does not export its table of regions.  Humongous
 * objects are then not followed at all.
 */
bool th_humongous_init(const struct th_hotspot *hotspot);

/*
 * Whether `object` is humongous: it must not be followed by a reference.  `object` is a local
 * reference and keeps it alive meanwhile. [jvmti]
 */
bool th_humongous_is(jobject object, uint64_t size);

/* Follows a humongous object; false: the table is full, or there is none. [jvmti] */
bool th_humongous_follow(jobject object, uint64_t sample);

/* A pause ends: finds those that are gone. [on the VM's thread, at the safepoint] */
void th_humongous_look(uint64_t now);

/* Calls `report` for each that was found gone since the last call, and forgets it. [agent-thread] */
void th_humongous_reap(void (*report)(uint64_t sample, uint64_t time));

/* Forgets those that are not followed at `level` (th_live_keeps()). [agent-thread] */
void th_humongous_thin(uint32_t level);

/* Forgets all. [agent-thread] */
void th_humongous_release(void);

#endif
