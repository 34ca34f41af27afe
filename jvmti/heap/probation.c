/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservoir sampling per stratum.  `strata` counts the offers and the members; the members of
 * all strata share one array, in no order.
 */
#include "jvmti/heap/probation.h"

#include <string.h>

void
th_probation_reset(struct th_probation *probation, uint64_t bytes_max, uint64_t salt)
{
	memset(probation, 0, sizeof(*probation));
	probation->bytes_max = bytes_max;
	probation->salt = salt;
}

/* Large objects: one stratum for each doubling of the size. */
static uint32_t
stratum_of(const struct th_probation *probation, uint64_t site, uint64_t size)
{
	uint64_t limit = probation->bytes_max / TH_PROBATION_SMALL;
	uint32_t stratum = TH_PROBATION_SITES;

	if (size <= limit)
		return (uint32_t)((site ^ probation->salt) * 0x9e3779b97f4a7c15u >> 32) %
		       TH_PROBATION_SITES;
	for (limit *= 2; size > limit && stratum + 1 < TH_PROBATION_STRATA; limit *= 2)
		stratum++;
	return stratum;
}

/* Uniform below `bound`. */
static uint64_t
below(struct th_random *random, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)th_random_next(random) * bound >> 64);
}

/* A random member of a stratum that has some. */
static struct th_probation_member *
choose_member(struct th_probation *probation, struct th_random *random, uint32_t stratum)
{
	uint64_t skip = below(random, probation->strata[stratum].members);
	struct th_probation_member *member = probation->members;

	for (;; member++)
		if (member->stratum == stratum && skip-- == 0)
			return member;
}

/* The stratum of small objects with the most members. */
static uint32_t
largest_stratum(const struct th_probation *probation)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < TH_PROBATION_SITES; i++)
		if (probation->strata[i].members > probation->strata[largest].members)
			largest = i;
	return largest;
}

static uint32_t
count_small(const struct th_probation *probation)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < TH_PROBATION_SITES; i++)
		count += probation->strata[i].members;
	return count;
}

static struct th_probation_member *
take_place(struct th_probation_member *member, uint32_t stratum,
	struct th_probation_member *evicted_ret)
{
	*evicted_ret = *member;
	*member = (struct th_probation_member){.stratum = stratum};
	return member;
}

/*
 * Gives one more member to a stratum in which every offered object is a member: a free slot, or
 * one of a stratum with at least two members more.  NULL: no slot available.
 */
static struct th_probation_member *
grow(struct th_probation *probation, struct th_random *random, uint32_t stratum,
	struct th_probation_member *evicted_ret)
{
	bool is_small = stratum < TH_PROBATION_SITES;
	uint32_t members = probation->strata[stratum].members;
	uint32_t from;

	if (is_small ? count_small(probation) < TH_PROBATION_SMALL : members == 0) {
		probation->strata[stratum].members++;
		probation->members[probation->count].stratum = stratum;
		return &probation->members[probation->count++];
	}
	from = largest_stratum(probation);
	if (!is_small || probation->strata[from].members < members + 2)
		return NULL;
	struct th_probation_member *member = choose_member(probation, random, from);
	probation->strata[from].members--;
	probation->strata[stratum].members++;
	return take_place(member, stratum, evicted_ret);
}

struct th_probation_member *
th_probation_offer(struct th_probation *probation, struct th_random *random, uint64_t site,
	uint64_t size, struct th_probation_member *evicted_ret)
{
	uint32_t stratum = stratum_of(probation, site, size);
	uint32_t members = probation->strata[stratum].members;
	uint64_t offered = ++probation->strata[stratum].offered;
	struct th_probation_member *member = NULL;

	*evicted_ret = (struct th_probation_member){0};
	if (members + 1 == offered)
		member = grow(probation, random, stratum, evicted_ret);
	if (member || below(random, offered) >= members)
		return member;
	return take_place(choose_member(probation, random, stratum), stratum, evicted_ret);
}

double
th_probation_keep(
	const struct th_probation *probation, const struct th_probation_member *member)
{
	return (double)probation->strata[member->stratum].members /
	       (double)probation->strata[member->stratum].offered;
}
