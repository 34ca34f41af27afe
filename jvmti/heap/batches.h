/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows sampled Java objects, in small batches (probation.h), under a collector whose young
 * collections treat weak references as strong (collector.h).
 *
 * A batch takes objects during a few young collections.  It is judged once its objects are in
 * the old generation (after sixteen young collections) and a collection of the whole heap has
 * begun and ended since.  Objects found alive are then followed like any other object: a weak
 * reference to an old object does not keep it alive.  A full collection on demand (System.gc())
 * promotes all objects first, so it judges all batches.
 *
 * Each young object that is followed also keeps alive, in a young collection, everything it
 * refers to.  Batches therefore begin at a rate that bounds the number of affected young
 * collections.  If collections are frequent, objects are followed only part of the time.
 */
#ifndef TH_JVMTI_HEAP_BATCHES_H
#define TH_JVMTI_HEAP_BATCHES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"

/* A sampled Java object, on the thread that allocated it. */
struct th_sampled_object {
	jobject reference;
	uint64_t sample; /* sample id */
	uint64_t size;   /* bytes */
	uint64_t site;   /* the same number for all objects of one stack and class */
};

/* Takes over a judged object that is alive, with its reference. */
typedef void th_batches_prove(JNIEnv *env, jweak reference, uint64_t sample);

/*
 * Begins the first batch.  `hotspot` stays the caller's.  `prove` receives judged objects that
 * are alive, `report` the samples whose object is dead; both run on the agent thread. [jvmti]
 */
void th_batches_init(const struct th_hotspot *hotspot, th_batches_prove *prove,
	void (*report)(uint64_t sample));

/* Whether th_batches_init() was called, so that objects are offered here. [jvmti] */
bool th_batches_are_used(void);

/* Objects born before that time were judged, as far as they are followed; 0 = none. [agent-thread] */
uint64_t th_batches_judged(void);

/* Offers an object to the open batch, if any; false: the object is too large. [jvmti] */
bool th_batches_offer(JNIEnv *env, const struct th_sampled_object *object);

/* Judges, closes and begins the batches that are due. [agent-thread] */
void th_batches_turn(JNIEnv *env);

/* Finds dead objects of the batches. [agent-thread] */
void th_batches_reap(JNIEnv *env);

/*
 * A full collection that promotes all objects has ended; it began no earlier than `began`.
 * Objects born before that time are judged, the others are no longer followed. [agent-thread]
 */
void th_batches_judge_all(JNIEnv *env, uint64_t began);

/*
 * Logs the objects younger than the last collection, which began at `since`: they count as
 * alive. [agent-thread]
 */
void th_batches_flush(uint64_t since);

/* Deletes all references. [agent-thread] */
void th_batches_release(JNIEnv *env);

#endif
