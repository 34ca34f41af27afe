/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording by import slots (a late attach) does not see of the C heap, as far as it can be
 * measured: pointers past the slots, blocks that were freed past them, and the growth of malloc's heap
 * by its own figures against that of the blocks that were seen.
 */
#ifndef TH_REPORT_PROFILE_UNSEEN_H
#define TH_REPORT_PROFILE_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct th_unseen {
	uint64_t slots;
	uint64_t objects;  /* with redirected slots */
	uint64_t foreign;  /* slots that hold another tool's function */
	uint64_t searched; /* objects whose data was searched for pointers */
	uint64_t copies;   /* such pointers; by object: slot_copies of the recording */
	uint64_t blocks;   /* sampled */
	uint64_t reused;   /* of these, freed past the slots */
	bool has_growth; /* the figures of the allocator are known; only glibc's are comparable */
	double grown;    /* bytes in use at the last breakdown, less those at the first one */
	struct th_estimate
		seen; /* blocks allocated in between that are alive at the last one */
	/*
	 * Bytes allocated past the slots, at least: the rest of the growth beyond the interval of
	 * `seen`.  Blocks from before that were freed meanwhile hide as many.
	 */
	double at_least;
};

/* False: the process was not recorded by import slots. */
bool th_unseen_find(const struct th_profile *profile, struct th_unseen *ret);

/* Whether so much was not seen that figures of the C heap are incomplete. */
bool th_unseen_is_notable(const struct th_unseen *unseen);

#endif
