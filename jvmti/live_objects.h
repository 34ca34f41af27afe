/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled Java objects that are alive: a bounded table of weak global references, looked
 * through after collections.  Where such a reference would keep its object alive, what is followed
 * and how depends on the collector: humongous.h, batches.h.
 *
 * When the table is full it is thinned by half, with the weights of the rest doubled, and
 * newcomers are thinned alike, so no time of birth is preferred.  Which objects stay is a
 * function of their sample ids and the level (th_live_keeps() in log_format.h), so the log needs
 * to say nothing of those that leave.
 */
#ifndef TH_JVMTI_LIVE_OBJECTS_H
#define TH_JVMTI_LIVE_OBJECTS_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/batches.h"
#include "jvmti/collector.h"

/* Objects followed at once; one look through all of them takes under a millisecond. */
#define TH_LIVE_OBJECTS_MAX 65536

/* Maps the table; false: no memory, no object is followed. */
bool th_live_objects_init(void);

/* Objects are followed as the collector allows.  `hotspot` stays the caller's. [jvmti] */
void th_live_objects_begin(const struct th_hotspot *hotspot, enum th_collector collector);

/* Follows an object on the thread that allocated it. [jvmti] */
void th_live_objects_follow(JNIEnv *env, const struct th_sampled_object *object);

/* Takes in what th_live_objects_follow() left. [agent-thread] */
void th_live_objects_collect(JNIEnv *env);

/*
 * The last pauses of the collector, `pauses` so far, took `pause_ns` in the mean; 0 = not known.  The
 * table, and what is added to it, are thinned so that references add little to a pause.
 * [agent-thread]
 */
void th_live_objects_bound(JNIEnv *env, uint64_t pause_ns, uint32_t pauses);

/* Looks through the table and writes a JAVA_DEATH for each object that is gone. [agent-thread] */
void th_live_objects_reap(JNIEnv *env);

/* Follows nothing any more: gives all references back. [agent-thread] */
void th_live_objects_release(JNIEnv *env);

#endif
