/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sampled Java objects are followed where following an object keeps it alive until a
 * collection of the whole heap: a bounded random choice with known probabilities.
 *
 * Objects that are offered between two resets are divided into strata: small ones by a hash of
 * their site, so that a site that allocates little is not crowded out by one that allocates much,
 * large ones by their size.  In each stratum the members are a simple random sample, k of the n
 * that were offered (Vitter's algorithm R).  How large k is follows from the order of the offers
 * alone, never from which objects were chosen; so each object was a member with probability k/n
 * exactly.
 *
 * Pure: no lock, no JNI; references are the caller's.
 */
#ifndef TH_JVMTI_PROBATION_H
#define TH_JVMTI_PROBATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unify/sample/poisson.h"

/* Small objects followed at once. */
#define TH_PROBATION_SMALL 16
/* Strata of small objects; no more than members, so that each has one. */
#define TH_PROBATION_SITES 8
/* Strata of large objects, each with one member at most. */
#define TH_PROBATION_LARGE 4
#define TH_PROBATION_STRATA (TH_PROBATION_SITES + TH_PROBATION_LARGE)
#define TH_PROBATION_MEMBERS (TH_PROBATION_SMALL + TH_PROBATION_LARGE)

struct th_probation_member {
	void *reference; /* the caller's */
	uint64_t sample;
	uint64_t time; /* of birth, CLOCK_MONOTONIC nanoseconds */
	uint32_t stratum;
	bool is_dead; /* the caller's, like the next */
	bool is_logged;
};

struct th_probation {
	uint64_t bytes_max; /* size of the largest object that is followed */
	uint64_t salt;
	struct {
		uint64_t offered;
		uint32_t members;
	} strata[TH_PROBATION_STRATA];
	struct th_probation_member members[TH_PROBATION_MEMBERS];
	uint32_t count; /* of members */
};

/*
 * Empties it.  Members come to three times `bytes_max` at most; small objects are those up to
 * bytes_max / TH_PROBATION_SMALL. `salt` changes which sites share a stratum.
 */
void th_probation_reset(struct th_probation *probation, uint64_t bytes_max, uint64_t salt);

/*
 * Offers an object of at most `bytes_max` bytes.  Returns its member, which the caller fills in
 * except for the stratum; NULL: it is not followed.  `evicted_ret`: the member that it replaces,
 * sample 0 if none.
 */
struct th_probation_member *
th_probation_offer(struct th_probation *probation, struct th_random *random, uint64_t site,
	uint64_t size, struct th_probation_member *evicted_ret);

/* The probability that a member is one. */
double th_probation_keep(
	const struct th_probation *probation, const struct th_probation_member *member);

#endif
