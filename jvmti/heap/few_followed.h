/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows few of the sampled Java objects under a collector whose young collections treat
 * weak references as strong (collector.h): a followed young object stays alive, with everything it
 * refers to, until it is in the old generation and a collection of the whole heap has found it dead.
 *
 * Each object waits until it is in the old generation (after sixteen young collections) and a
 * collection of the whole heap has begun and ended since.  Then it is judged; if it is alive it is
 * followed like any other object: a weak reference to an old object does not keep it alive.  A full
 * collection that the library requests promotes all objects first, so it judges all that wait.
 */
#ifndef TH_JVMTI_HEAP_FEW_FOLLOWED_H
#define TH_JVMTI_HEAP_FEW_FOLLOWED_H

#include <jni.h>
#include <stdbool.h>
#include <stdint.h>

#include "jvmti/vm/hotspot.h"
#include "unify/sample/poisson.h"
#include "unify/shared/clock.h"

/* A sampled Java object, on the thread that allocated it. */
struct th_sampled_object {
	jobject reference;
	uint64_t sample; /* sample id */
	uint64_t size;   /* bytes */
	uint64_t site;   /* the same number for all objects of one stack and class */
};

/* Starts.  `hotspot` stays the caller's. [jvmti] */
void th_few_followed_init(const struct th_hotspot *hotspot);

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
 * A full collection that the library requested has ended; it began no earlier than `began`.
 * Objects born before that time are judged. [agent-thread]
 */
void th_few_followed_judge_all(JNIEnv *env, uint64_t began);

/* Deletes all references. [agent-thread] */
void th_few_followed_release(JNIEnv *env);

/*
 * The choice: few of many sampled Java objects at random, at a bounded rate and with known probabilities.
 *
 * Objects are divided into strata: small ones by a hash of their site, so that a site that allocates
 * much does not crowd out one that allocates little; large ones by their size.  In each stratum at
 * most one object is chosen in a period, which is the longer the more strata are in use.  Each object
 * is chosen with probability 1/n, unless one was chosen before it, where n is the number of objects
 * expected by the rate of the last period, or the number so far if that is larger.  The probability of an
 * object depends on the offers only, not on which of them were chosen.
 */
/* Strata of small objects, and of large ones: one for each doubling of the size. */
#define TH_CHOICE_SMALL 32
#define TH_CHOICE_LARGE 4
#define TH_CHOICE_STRATA (TH_CHOICE_SMALL + TH_CHOICE_LARGE)
/* Objects up to 1/SMALL_PART of the largest are small. */
#define TH_CHOICE_SMALL_PART 16
/* The length of a period is so much for each stratum in use, */
#define TH_CHOICE_SPACING_NS (TH_NS_PER_S / 4)
/* which are those that were offered an object in this span of the clock or the one before. */
#define TH_CHOICE_SPAN_NS (2 * (uint64_t)TH_NS_PER_S)

struct th_choice_stratum {
	uint64_t begin; /* of the period, ns */
	double before;  /* objects expected by the rate of the last one */
	uint64_t count; /* objects so far */
	double open;    /* probability that none of them was chosen */
	bool is_used;   /* whether one was */
};

struct th_choice {
	uint64_t bytes_max; /* size of the largest object */
	uint64_t salt;      /* determines which sites share a stratum */
	uint64_t span;      /* number of the span */
	uint64_t in_use;    /* bits of strata, of this span */
	uint64_t in_use_before;
	struct th_choice_stratum strata[TH_CHOICE_STRATA];
};

/* Starts; until the first span is over all strata count as in use. [any] */
void th_choice_init(struct th_choice *choice, uint64_t bytes_max, uint64_t salt, uint64_t time);

/*
 * Offers an object of at most `bytes_max` bytes at a time in nanoseconds.  Returns the probability with
 * which it was chosen; 0: it was not. [any]
 */
double th_choice_offer(struct th_choice *choice, struct th_random *random, uint64_t site,
	uint64_t size, uint64_t time);

#endif
