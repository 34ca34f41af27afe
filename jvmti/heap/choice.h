/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses few of many sampled Java objects at random, at a bounded rate and with known probabilities.
 *
 * Objects are divided into strata: small ones by a hash of their site, so that a site that allocates
 * much does not crowd out one that allocates little; large ones by their size.  In each stratum at
 * most one object is chosen in a period, which is the longer the more strata are in use.  Each object
 * is chosen with probability 1/n, unless one was chosen before it, where n is the number of objects
 * expected by the rate of the last period, or the number so far if that is larger.  The probability of an
 * object depends on the offers only, not on which of them were chosen.
 *
 * No locks, no JNI.
 */
#ifndef TH_JVMTI_HEAP_CHOICE_H
#define TH_JVMTI_HEAP_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "unify/sample/poisson.h"
#include "unify/shared/clock.h"

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
