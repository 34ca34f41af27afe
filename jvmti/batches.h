/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled Java objects under a collector whose young collections keep alive what a weak reference
 * refers to (collector.h): followed in batches of a few (probation.h).
 *
 * A batch takes objects for the time of some young collections.  It is judged when its objects are
 * in the old generation, where they are after sixteen young collections, and a collection of the
 * whole heap has begun and ended since.  Objects that it found alive are followed from then on like
 * any other object; a weak reference to an old object does not keep it alive.  A full collection on
 * demand (System.gc()) promotes everything first and judges all batches.
 *
 * With each young object that is followed a young collection also keeps all that it refers to.  So
 * batches begin at a rate that bounds the young collections with such objects: if collections are
 * frequent, objects are followed for a part of the time only.
 */
#ifndef TH_JVMTI_BATCHES_H
#define TH_JVMTI_BATCHES_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/hotspot.h"

/* A Java object that was sampled, on the thread that allocated it. */
struct th_sampled_object {
	jobject reference;
	uint64_t sample; /* its id */
	uint64_t size;   /* bytes */
	uint64_t site;   /* any number that is the same for objects of one stack and class */
};

/* Takes a judged object that is alive, with its reference. */
typedef void th_batches_prove(JNIEnv *env, jweak reference, uint64_t sample);

/*
 * Begins the first batch. `hotspot` stays the caller's.  `prove` takes objects that were judged and
 * are alive, `report` samples whose object is dead; both are called on the agent's thread. [jvmti]
 */
void th_batches_init(const struct th_hotspot *hotspot, th_batches_prove *prove,
	void (*report)(uint64_t sample));

/* Whether th_batches_init() was called: objects go here. [jvmti] */
bool th_batches_are_used(void);

/* Offers an object to the open batch, if there is one; false: it is too large. [jvmti] */
bool th_batches_offer(JNIEnv *env, const struct th_sampled_object *object);

/* Judges, closes and begins batches that are due. [agent-thread] */
void th_batches_turn(JNIEnv *env);

/* Finds objects of the batches that are dead. [agent-thread] */
void th_batches_reap(JNIEnv *env);

/*
 * A full collection that promotes all objects has ended, begun no earlier than `began`: objects from
 * before that time are judged, the others are not followed any more. [agent-thread]
 */
void th_batches_judge_all(JNIEnv *env, uint64_t began);

/*
 * Logs which objects are younger than the last collection, begun at `since`: they count as alive.
 * [agent-thread]
 */
void th_batches_flush(uint64_t since);

/* Deletes all references. [agent-thread] */
void th_batches_release(JNIEnv *env);

#endif
