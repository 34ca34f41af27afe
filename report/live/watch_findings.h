/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaks found so far in a running recording, by the same analysis as `leaks`.  It takes longer
 * than summing up, so it is done at most every ten seconds.
 */
#ifndef TH_REPORT_LIVE_WATCH_FINDINGS_H
#define TH_REPORT_LIVE_WATCH_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile/profile.h"

struct th_watch_findings {
	char *headline; /* NULL: no leak was found */
	bool *is_leak;  /* by place of a row, see th_watch_findings_is_leak() */
	uint32_t *row_places;
	size_t rows_count;
	uint64_t due; /* earliest time of the next analysis, ns; 0 = none so far */
};

/* Judges the profile if an analysis is due at `now` (CLOCK_MONOTONIC, ns); whether it was. */
bool th_watch_findings_update(
	struct th_watch_findings *findings, const struct th_profile *profile, uint64_t now);
void th_watch_findings_deinit(struct th_watch_findings *findings);

/* Whether the samples of a row belong to a leak; by index, until the profile changes. */
bool th_watch_findings_is_leak(const struct th_watch_findings *findings, size_t row);

#endif
