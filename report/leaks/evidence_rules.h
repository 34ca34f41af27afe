/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of evidence: figures (evidence.c), tests of birth times and verdicts
 * (evidence_verdict.c), and the detection limit (detection.c). Every threshold is defined here,
 * with its reason; what is counted (tallied.c) has some of them, too.
 */
#ifndef TH_REPORT_LEAKS_EVIDENCE_RULES_H
#define TH_REPORT_LEAKS_EVIDENCE_RULES_H

#include "report/leaks/evidence.h"

/*
 * Minimum number of old survivors from the later half for growth. Five without a death also
 * make the lower limit of growth positive.
 */
#define ENOUGH_LATE 5
/*
 * Minimum number of old survivors of a leak when only few objects are followed. They may be of
 * about one age, so that a cache that evicts in order looks like a leak until that age exceeds
 * what it keeps: of 12 that are followed more than a fifth would be dead with a probability of
 * 95 %.
 */
#define ENOUGH_FOLLOWED 12
/*
 * Minimum fraction of the time over which old survivors must spread; the first tenth of them is
 * ignored, since a few of the start-up do not make a step a leak.
 */
#define SPREAD_PART 0.25
/* The same if growth evidently began after the warm-up: it may still be one step. */
#define LATE_SPREAD_PART 0.4
#define SPREAD_IGNORES 10
/* A program may end with a short phase of other work, in which a leak pauses. */
#define PAUSE_PART 0.2
/* A pause less probable than this in a steady leak is the end of its growth. */
#define UNLIKELY_PAUSE 0.05
/* Leaks that come in bursts pause between them; the last pause may be longer by this factor. */
#define LONGER_PAUSE 1.5
/*
 * A pause shorter than PAUSE_PART, but longer than this, ends growth if the rest of the heap
 * went on allocating, at this fraction of its rate or more, and if it is less probable than
 * this: the program did not pause, the site did.
 */
#define ACTIVE_PAUSE_PART 0.05
#define ACTIVE_RATE 0.5
#define UNLIKELY_ACTIVE_PAUSE 0.001
/* Where the rest of the heap has less than this fraction of its rate meanwhile, the load ended. */
#define IDLE_RATE 0.1
/*
 * Growth since the warm-up, if the later half alone is not significant, counts only if a pause of
 * this fraction of the time at its end would be less probable than UNLIKELY_PAUSE.
 */
#define NOTICED_PAUSE_PART 0.25
/* A number of survivors in the last quarter less probable than this is a slowdown. */
#define UNLIKELY_QUARTER 0.02
/* Maximum fraction of old memory that a leak frees: other uses of the same site. */
#define LEAK_FREES 0.1
/*
 * A site that frees more is judged again by blocks that lived longer than this multiple of
 * `old`: of what is in use for a time only, nearly all is gone by then. The two looks share the
 * error rate of the site.
 */
#define OLDER 3
#define FIRST_LOOK (2.0 / 3)
#define SECOND_LOOK (1.0 / 3)
/* P of as many gains by chance below which growth is possible, though not significant. */
#define HINT_OF_GROWTH 0.1
/* Samples of a site that show how sparsely it was sampled itself. */
#define ENOUGH_FOR_GAP 20
/* Snapshots are in ascending order by chance with probability 1 : 120. */
#define ENOUGH_ACCOUNTS 5
/* Maximum p of that order; snapshots that fluctuate have a higher one. */
#define UNLIKELY_TREND 0.02
/*
 * Minimum growth of resident memory since the middle, in sampling intervals: as much as growth
 * by samples needs.
 */
#define LEAST_GROWTH_INTERVALS 7
/* The last quarter of the time must have half of its expected share of that growth. */
#define LEAST_QUARTER 0.125
/* Growth until the load ended leaves the verdict open if it lasted for this part of the time. */
#define LOAD_PART 0.25
/* Blocks that are in ascending order of size by chance with probability 1 : 120. */
#define ENOUGH_ASCENDING 5
/* Part of the load after which what grows with it, by doubling, has been doubled again; with some slack. */
#define ENLARGED_AFTER 0.4
/* Minimum for a verdict; with fewer samples it would be a guess. */
#define ENOUGH_SAMPLES 5
/* A site that frees this fraction of its objects, and does not grow, churns. */
#define CHURN_FREES 0.5

/*
 * What stays is of all ages: of what was allocated in the earlier half, at least this part of what is
 * alive of the later half.  Of what is in use for half of the time, less than a half is.
 */
#define ALIKE 0.75
/* So uneven by chance less often than this: the earlier ones died. */
#define UNLIKELY_ALIKE 0.001

/* Released only at exit: at least this part. */
#define RELEASED_PART 0.5

/*
 * Whether the current site still gains survivors, and whether ever more slowly: sets
 * born_since, last_birth, is_growing, is_slowing and the figures behind them. `size`: mean
 * bytes of survivors, which determines their sampling probability.
 */
void th_evidence_test_births(struct th_evidence *evidence, struct th_judge *judge, double size);

/*
 * Lower limit of the growth, bytes; the growth itself where that is not positive, since intervals
 * are slow to compute.
 */
double
th_evidence_growth_limit(const struct th_judge *judge, const struct th_evidence *evidence,
	const struct th_estimator *gained, const struct th_estimator *lost);

/* Lower limit of the growth that `hits` samples of small blocks show, one every `gap` bytes. */
double th_evidence_limit_of_hits(const struct th_judge *judge, uint32_t hits, double gap);

/* Determines the verdict from all figures. */
void th_evidence_find_verdict(struct th_evidence *evidence, const struct th_judge *judge);

/* Whether a site frees no more of its old blocks than a leak does. */
bool th_evidence_keeps_old(const struct th_evidence *evidence);

/*
 * Judges by resident memory where the samples of mappings alone do not show a leak: the growth is that
 * of resident memory then.
 */
void th_evidence_judge_residency(struct th_evidence *evidence, const struct th_judge *judge);

#endif
