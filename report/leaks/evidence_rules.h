/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the parts of evidence: figures (evidence.c), tests of births (evidence_births.c) and
 * verdicts (evidence_verdict.c).  Every threshold stands here, with its reason.
 */
#ifndef TH_REPORT_LEAKS_EVIDENCE_RULES_H
#define TH_REPORT_LEAKS_EVIDENCE_RULES_H

#include "report/leaks/evidence.h"

/*
 * Old survivors out of the later half that growth must rest on.  Five without a death are also
 * what makes the lower limit of growth positive.
 */
#define ENOUGH_LATE 5
/* Old survivors must spread over this much of the time at least. */
#define SPREAD_PART 0.25
/* A program may end with a moment of other work, in which a leak pauses. */
#define PAUSE_PART 0.2
/* A pause that a steady leak makes with less probability than this is an end. */
#define UNLIKELY_PAUSE 0.05
/* Leaks that come in bursts pause between them; the last pause may be so much longer. */
#define LONGER_PAUSE 1.5
/* So few survivors in the last quarter, by the same reasoning, are a slowing down. */
#define UNLIKELY_QUARTER 0.02
/* Of what grew old, a leak frees no more than this part: some other use of the same place. */
#define LEAK_FREES 0.1
/* So many accounts are in ascending order by chance at 1 : 120. */
#define ENOUGH_ACCOUNTS 5
/* Of that order; accounts that go to and fro come to more. */
#define UNLIKELY_TREND 0.02
/* Sampling intervals that are in memory more than at the middle: as much as other growth takes. */
#define LEAST_GROWTH_INTERVALS 7
/* The last quarter of the time must have half of its due of that growth. */
#define LEAST_QUARTER 0.125
/* Verdicts out of fewer samples would be guesses. */
#define ENOUGH_SAMPLES 5
/* A place that frees this part of its objects, and does not grow, churns. */
#define CHURN_FREES 0.5

/* Samples stand in the order of the log, which is nearly that of time. */
void th_times_sort(uint64_t *times, size_t count);

/*
 * Whether what survives of the place at hand still comes, or ever more slowly: born_since,
 * last_birth, is_growing, is_slowing and what they rest on.  `size`: mean bytes of survivors, by
 * which they were sampled.
 */
void th_evidence_test_births(struct th_evidence *evidence, struct th_judge *judge, double size);

/* The verdict by all other figures. */
void th_evidence_find_verdict(struct th_evidence *evidence);

/*
 * The same by what is in memory, where mappings by themselves do not make a leak: true if that
 * does, over so many seconds of growth.
 */
bool th_evidence_judge_residency(
	struct th_evidence *evidence, const struct th_judge *judge, double seconds);

#endif
