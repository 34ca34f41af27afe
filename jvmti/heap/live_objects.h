/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled Java objects that are alive: a bounded table of weak global references, scanned
 * after collections.  Where a weak reference would keep its object alive, the collector
 * determines which objects are followed, and how: few_followed.h, and humongous objects of G1 by
 * address.
 *
 * A humongous object is at the start of a region of its own, does not move, and its region is
 * reclaimed in a pause.  An object has died if, at the end of a pause, its region no longer
 * starts a humongous object.  No reference is held, so the collector works as it does without
 * the library.  A region cannot be reused before the VM has reported the end of the pause.
 * JDK 22 and later move humongous objects in the full collection that is the last resort of a
 * failing allocation; a followed object is then reported as dead.
 *
 * A full table is thinned by half, and the weights of the remaining objects are doubled.  New
 * objects are thinned alike, so the time of birth has no influence.  Which objects stay is a
 * function of their sample ids and the level (th_live_keeps() in log_format.h), so the log need
 * not list those that are dropped.
 */
#ifndef TH_JVMTI_HEAP_LIVE_OBJECTS_H
#define TH_JVMTI_HEAP_LIVE_OBJECTS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/heap/few_followed.h"
#include "jvmti/heap/collector.h"

/* Objects followed at once; one scan of the full table takes less than a millisecond. */
#define TH_LIVE_OBJECTS_MAX 65536

/*
 * Humongous objects followed at once.  G1 chooses its region size so that there are about 2,048
 * regions, and each humongous object occupies at least one.
 */
#define TH_HUMONGOUS_MAX 2048

/* Maps the table; false: out of memory, no object is followed. */
bool th_live_objects_init(void);

/*
 * Starts following objects, as the collector allows, and drops what a callback may have left after the
 * release of another recording.  `hotspot` stays the caller's. [jvmti]
 */
void th_live_objects_begin(
	JNIEnv *env, const struct th_hotspot *hotspot, enum th_collector collector);

/* Follows an object on the thread that allocated it. [jvmti] */
void th_live_objects_follow(JNIEnv *env, const struct th_sampled_object *object);

/* Takes over a judged object that is alive, with its reference. [agent-thread] */
void th_live_objects_add(JNIEnv *env, jweak reference, uint64_t sample);

/* Logs that the object of a sample was found dead at a time (ns). [agent-thread] */
void th_live_objects_died(uint64_t sample, uint64_t time);

/* Keeps the table from getting full, and judges objects that have waited. [agent-thread] */
void th_live_objects_collect(JNIEnv *env);

/*
 * The last pauses of the collector, `pauses` so far, took `pause_ns` on average; 0: unknown, or weak
 * references cost them no time (th_collections_mean_pause()).  Thins the table and new objects so that the references add little to a pause; `now` is the time in ns.
 * [agent-thread]
 */
void th_live_objects_bound(JNIEnv *env, uint64_t pause_ns, uint32_t pauses, uint64_t now);

/* Scans the table and writes a JAVA_DEATH for each object that is gone. [agent-thread] */
void th_live_objects_reap(JNIEnv *env);

/*
 * Calls `visit` with the weak reference and the sample of each object in the table, of which some may
 * have died since the last scan; humongous objects: th_humongous_each(). [agent-thread]
 */
void
th_live_objects_each(void (*visit)(jweak reference, uint64_t sample, void *data), void *data);

/* Calls `visit` with the address and the sample of each humongous object. [agent-thread] */
void
th_humongous_each(void (*visit)(uintptr_t address, uint64_t sample, void *data), void *data);

/*
 * At the end of a pause: finds the humongous objects that have died. [on the VM's thread, at the
 * safepoint]
 */
void th_humongous_look(uint64_t now);

/* Number of objects in the table. [agent-thread] */
uint32_t th_live_objects_count(void);

/* Stops following objects and deletes all references. [agent-thread] */
void th_live_objects_release(JNIEnv *env);

#endif
