/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows few of the sampled Java objects (choice.h) under a collector whose young collections treat
 * weak references as strong (collector.h): a followed young object stays alive, with everything it
 * refers to, until it is in the old generation and a collection of the whole heap has found it dead.
 *
 * Each object waits until it is in the old generation (after sixteen young collections) and a
 * collection of the whole heap has begun and ended since.  Then it is judged; if it is alive it is
 * followed like any other object: a weak reference to an old object does not keep it alive.  A full
 * collection on demand (System.gc()) promotes all objects first, so it judges all that wait.
 */
#ifndef TH_JVMTI_HEAP_FEW_FOLLOWED_H
#define TH_JVMTI_HEAP_FEW_FOLLOWED_H

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
typedef void th_few_followed_prove(JNIEnv *env, jweak reference, uint64_t sample);

/*
 * Starts.  `hotspot` stays the caller's.  `prove` receives judged objects that are alive, `report` the
 * samples whose object is dead; both run on the agent thread. [jvmti]
 */
void th_few_followed_init(const struct th_hotspot *hotspot, th_few_followed_prove *prove,
	void (*report)(uint64_t sample));

/* Whether th_few_followed_init() was called, so that objects are offered here. [jvmti] */
bool th_few_followed_is_used(void);

/* Objects born before that time were judged, as far as they are followed; 0 = none. [agent-thread] */
uint64_t th_few_followed_judged(void);

/* Follows an object if it is chosen; false: the object is too large. [jvmti] */
bool th_few_followed_offer(JNIEnv *env, const struct th_sampled_object *object);

/* Judges the objects that have waited long enough. [agent-thread] */
void th_few_followed_turn(JNIEnv *env);

/* Finds dead objects among those that wait. [agent-thread] */
void th_few_followed_reap(JNIEnv *env);

/*
 * A full collection that promotes all objects has ended; it began no earlier than `began`.
 * Objects born before that time are judged. [agent-thread]
 */
void th_few_followed_judge_all(JNIEnv *env, uint64_t began);

/* Deletes all references. [agent-thread] */
void th_few_followed_release(JNIEnv *env);

#endif
