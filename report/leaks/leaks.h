/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: the sites of a recording that hold memory, each with a verdict and the numbers
 * behind it, worst first.
 *
 * Every site is judged separately. Related sites (one path to one line of the application) with
 * the same verdict are one finding, so that a leak of several blocks is listed once; those that
 * are too small to be judged are judged together. With --group-by, the sites of a group are
 * related.
 *
 * Verdicts are based on whole stacks: --focus and --hide change what is shown of a stack, but
 * no verdict.
 */
#ifndef TH_REPORT_LEAKS_LEAKS_H
#define TH_REPORT_LEAKS_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/evidence.h"
#include "report/leaks/tallied.h"
#include "report/profile/leak_sites.h"
#include "report/profile/profile.h"

/*
 * The Java objects that own native blocks: allocated by the caller of the method of their class
 * that allocates the blocks.
 */
struct th_owner {
	uint32_t place; /* site of the objects; TH_NO_PLACE = none were sampled */
	uint64_t samples;
	uint64_t collected; /* of these */
	bool is_collected;  /* nearly all of them were */
};

/* An entry of the list of findings. */
struct th_listed {
	uint32_t group; /* of sites */
	uint32_t place; /* site with most live bytes */
	enum th_verdict verdict;
	double live; /* bytes, point estimate */
};

struct th_finding {
	uint32_t place; /* site with most live bytes */
	uint32_t place_count;
	struct th_evidence evidence; /* of all its sites */
	struct th_evidence_sums sums;
	struct th_owner owner;
};

struct th_leaks {
	const struct th_profile *profile; /* with whole stacks */
	struct th_profile *whole;         /* the same, if owned by this struct; else NULL */
	struct th_leak_sites places;
	struct th_observation_window horizons[TH_HEAPS];
	TH_ARRAY(struct th_listed, findings); /* worst first */
	struct th_tallies tallies;            /* leaks of threads and class loaders */
	double growth_limit[TH_HEAPS];        /* detection limit: bytes per second of growth */
	struct th_leaks_work *work;           /* input for computing findings */
};

/* The profile must be of the end of its recording, and outlive the leaks. */
void th_leaks_init(struct th_leaks *leaks, const struct th_profile *profile);

/*
 * The same in two steps: th_leaks_find() does not modify the profile, so that others may read
 * it at the same time, unless --group-by is given.
 */
void th_leaks_prepare(struct th_leaks *leaks, const struct th_profile *profile);
void th_leaks_find(struct th_leaks *leaks);
void th_leaks_deinit(struct th_leaks *leaks);

/*
 * A finding with all its figures. Computed on demand: intervals are slow, and a heap may have
 * tens of thousands of findings that are never shown.
 */
struct th_finding
th_leaks_measured(const struct th_leaks *leaks, const struct th_listed *listed);

/* The path of a site as the options show it. */
struct th_path th_leaks_path(const struct th_leaks *leaks, const struct th_leak_site *place);

/* The function number of a site's group; 0 without --group-by. */
uint32_t th_leaks_group(const struct th_leaks *leaks, const struct th_leak_site *place);

/* Live bytes of all findings with verdict leak, at the lower ends of their intervals. */
double th_leaks_bytes(const struct th_leaks *leaks);
bool th_leaks_has_leak(const struct th_leaks *leaks);

#endif
