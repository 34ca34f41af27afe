/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which allocation sites have samples that stay alive.  The throttle keeps more of such sites
 * (site_rates.h), since a leak is proved by survivors, and most samples of a busy site are freed
 * at once.
 *
 * The table holds the latest samples that are followed; where it is full it forgets the youngest.
 * A sample is a survivor when it has lived for some time; a Java object also needs to have survived
 * a collection.  What is known of earlier samples decides on later ones only, so no estimate is
 * biased, whatever the table has forgotten.
 *
 * One path has many sites: a site is known by addresses, of which each compilation of a Java method
 * has its own.  So survivors count for all sites whose latest sample had their path.
 */
#ifndef TH_UNIFY_SAMPLE_SURVIVORS_H
#define TH_UNIFY_SAMPLE_SURVIVORS_H

#include <stdint.h>

#include "unify/sample/site_rates.h"
#include "unify/shared/log_format.h"

/* Where a sample was taken. */
struct th_survivor_origin {
	uint64_t far;  /* of its site (site_rates.h) */
	uint64_t path; /* of its stack (capture.h) */
};

/* A sample that is followed to its end was recorded, at `now` (ns). [in-malloc] */
void th_survivors_add(
	enum th_heap heap, struct th_survivor_origin origin, uint64_t sample, uint64_t now);

/* It has ended, or is not followed any more.  Unknown samples are ignored. [in-malloc] */
void th_survivors_remove(enum th_heap heap, uint64_t sample);

/* Java objects from before `time` (ns) that have not been removed have survived. [any] */
void th_survivors_collected(uint64_t time);

/*
 * Writes the survivors of each site into `sites`; the recording began at `start`.  Takes some 10
 * us.  By the writer of `sites`. [in-malloc]
 */
void th_survivors_count(
	enum th_heap heap, uint64_t start, uint64_t now, struct th_site_rates *sites);

/* In a forked child, or for another recording. */
void th_survivors_reset(void);

#endif
