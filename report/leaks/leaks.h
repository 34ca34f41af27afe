/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: the places of a recording that hold memory, each with a verdict and the numbers
 * behind it, worst first.
 *
 * Every place is judged by itself.  Related places (one way to one line of the application) with
 * the same verdict are one finding, so that a leak of several blocks shows once; those that are
 * too small to be judged are judged together.  With --group-by, the places of a group are related.
 *
 * What is judged is the whole stack: --focus and --hide change what is shown of it and no verdict.
 */
#ifndef TH_REPORT_LEAKS_LEAKS_H
#define TH_REPORT_LEAKS_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/leaks/evidence.h"
#include "report/profile/leak_sites.h"
#include "report/profile/profile.h"

/* The Java objects that own native blocks: made where their class then allocated the blocks. */
struct th_owner {
	uint32_t place; /* of the objects; TH_NO_PLACE = none were sampled */
	uint64_t samples;
	uint64_t collected; /* of these */
	bool is_collected;  /* so nearly all of them */
};

/* A finding in the list of all. */
struct th_listed {
	uint32_t group; /* of places */
	uint32_t place; /* the one with most live bytes */
	enum th_verdict verdict;
	double live; /* bytes, a point */
};

struct th_finding {
	uint32_t place; /* the one with most live bytes */
	uint32_t place_count;
	struct th_evidence evidence; /* of all its places */
	struct th_evidence_sums sums;
	struct th_owner owner;
};

struct th_leaks {
	const struct th_profile *profile; /* with whole stacks */
	struct th_profile *whole;         /* the same, if it is our own; else NULL */
	struct th_leak_sites places;
	struct th_observation_window horizons[TH_HEAPS];
	TH_ARRAY(struct th_listed, findings); /* worst first */
	double growth_limit[TH_HEAPS];        /* bytes per second of growth that could hide */
	struct th_leaks_work *work;           /* what findings are looked up in */
};

/* The profile must be of the end of its recording, and outlive the leaks. */
void th_leaks_init(struct th_leaks *leaks, const struct th_profile *profile);

/*
 * The same in two steps: what th_leaks_find() looks at does not change, so that others may look at
 * the profile meanwhile, unless there is --group-by.
 */
void th_leaks_prepare(struct th_leaks *leaks, const struct th_profile *profile);
void th_leaks_find(struct th_leaks *leaks);
void th_leaks_deinit(struct th_leaks *leaks);

/*
 * A finding with all that is known of it: its intervals take long, and a heap may have tens of
 * thousands of findings that nobody reads.
 */
struct th_finding
th_leaks_measured(const struct th_leaks *leaks, const struct th_listed *listed);

/* The path of a place as the options show it. */
struct th_path th_leaks_path(const struct th_leaks *leaks, const struct th_leak_site *place);

/* The function number of a place's group; 0 without --group-by. */
uint32_t th_leaks_group(const struct th_leaks *leaks, const struct th_leak_site *place);

/* Live bytes of all findings with verdict leak, at the lower end of their intervals. */
double th_leaks_bytes(const struct th_leaks *leaks);
bool th_leaks_has_leak(const struct th_leaks *leaks);

#endif
