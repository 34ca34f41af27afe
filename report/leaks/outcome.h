/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of `leaks` as a whole: found, none above a detection limit, or inconclusive.
 */
#ifndef TH_REPORT_LEAKS_OUTCOME_H
#define TH_REPORT_LEAKS_OUTCOME_H

#include <stdbool.h>

#include "report/leaks/leaks.h"

enum th_outcome_verdict {
	TH_OUTCOME_FOUND,
	TH_OUTCOME_NONE,         /* no leak above the detection limits */
	TH_OUTCOME_INCONCLUSIVE, /* a heap was not judged, or growth is not clear yet */
};

extern const char *const th_outcome_names[];

struct th_outcome {
	enum th_outcome_verdict verdict;
	uint64_t leaks;
	uint64_t unclosed;       /* of these: freed only by collections */
	uint64_t of_vm;          /* more of them: th_leaks_of_vm() */
	double growth;           /* of all leaks, bytes per second, point estimate */
	bool is_asked[TH_HEAPS]; /* it is about this heap */
	bool is_judged[TH_HEAPS];
	bool is_complete; /* all of these heaps were judged */
	const struct th_tallied
		*unclear; /* threads or loaders that were not judged; NULL: none */
	/*
	 * Bytes per second, th_detection_limit(); 0: every allocation was recorded. Of judged
	 * heaps only.
	 */
	double limits[TH_HEAPS];
	/* The limit asked for (--limit), and whether all judged and unjudged heaps reach it. */
	double asked;
	bool is_reached;
};

struct th_outcome th_outcome_find(const struct th_leaks *leaks);

/*
 * Exit status of `leaks` with --fail-on: 0 none, 1 leaks as asked for, TH_STATUS_LIMIT no leak,
 * but the limit was not reached, TH_STATUS_INCONCLUSIVE. 0 without --fail-on.
 */
#define TH_STATUS_LIMIT 5
#define TH_STATUS_INCONCLUSIVE 6
int th_outcome_status(const struct th_leaks *leaks, const struct th_outcome *outcome);

#endif
