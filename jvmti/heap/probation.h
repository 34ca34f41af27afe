/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the sampled Java objects to follow where following an object keeps it alive until a
 * collection of the whole heap: a bounded random choice with known probabilities.
 *
 * Objects offered between two resets are divided into strata: small ones by a hash of their
 * site, so that a site that allocates much does not crowd out one that allocates little; large
 * ones by their size.  In each stratum the members are a simple random sample, k of the n
 * objects offered (Vitter's algorithm R). k depends only on the order of the offers, never on
 * which objects were chosen, so each object was a member with probability k/n exactly.
 *
 * No locks, no JNI; references are owned by the caller.
 */
#ifndef TH_JVMTI_HEAP_PROBATION_H
#define TH_JVMTI_HEAP_PROBATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/sample/poisson.h"

/* Small objects followed at once. */
#define TH_PROBATION_SMALL 16
/* Strata of small objects; at most as many as small members, so that each stratum has one. */
#define TH_PROBATION_SITES 8
/* Strata of large objects, each with at most one member. */
#define TH_PROBATION_LARGE 4
#define TH_PROBATION_STRATA (TH_PROBATION_SITES + TH_PROBATION_LARGE)
#define TH_PROBATION_MEMBERS (TH_PROBATION_SMALL + TH_PROBATION_LARGE)

struct th_probation_member {
	void *reference; /* owned by the caller */
	uint64_t sample;
	uint64_t time; /* of birth, CLOCK_MONOTONIC nanoseconds */
	uint32_t stratum;
	bool is_dead; /* set by the caller, as is is_logged */
	bool is_logged;
};

struct th_probation {
	uint64_t bytes_max; /* size of the largest followed object */
	uint64_t salt;
	struct {
		uint64_t offered;
		uint32_t members;
	} strata[TH_PROBATION_STRATA];
	struct th_probation_member members[TH_PROBATION_MEMBERS];
	uint32_t count; /* number of members */
};

/*
 * Empties the set.  The members total at most three times `bytes_max`; small objects are those
 * up to bytes_max / TH_PROBATION_SMALL.  `salt` changes which sites share a stratum.
 */
void th_probation_reset(struct th_probation *probation, uint64_t bytes_max, uint64_t salt);

/*
 * Offers an object of at most `bytes_max` bytes.  Returns its member, which the caller fills in
 * except for the stratum; NULL: the object is not followed.  `evicted_ret`: the member it
 * replaces; sample 0 if none.
 */
struct th_probation_member *
th_probation_offer(struct th_probation *probation, struct th_random *random, uint64_t site,
	uint64_t size, struct th_probation_member *evicted_ret);

/* The probability with which `member` was selected. */
double th_probation_keep(
	const struct th_probation *probation, const struct th_probation_member *member);

#endif
