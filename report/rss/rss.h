/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All data of a view of resident memory: the breakdown at a snapshot, its verdict, and the
 * breakdowns over time.
 */
#ifndef TH_REPORT_RSS_RSS_H
#define TH_REPORT_RSS_RSS_H

#include "report/leaks/leaks.h"
#include "report/rss/breakdown.h"
#include "report/rss/verdict.h"

/* One of the breakdowns over time: its lines, without parts. */
struct th_rss_moment {
	double seconds;
	double resident;
	double lines[TH_BREAKDOWN_KINDS];
};

struct th_rss {
	const struct th_profile *profile;
	struct th_breakdown account; /* at the time of the view */
	double seconds;              /* time of that snapshot */
	TH_ARRAY(struct th_rss_point, points);
	TH_ARRAY(struct th_rss_moment, moments); /* at most TH_RSS_MOMENTS, by time */
	struct th_rss_facts facts;
	struct th_rss_verdict verdict;
};

#define TH_RSS_MOMENTS 64

/*
 * The profile must outlive it and its recording must have a snapshot. `leaks`: the findings of that
 * profile, with which the verdict must agree; NULL: not known.
 */
void
th_rss_init(struct th_rss *rss, const struct th_profile *profile, const struct th_leaks *leaks);
void th_rss_deinit(struct th_rss *rss);

/*
 * The rows of the profile that make up a line of malloc's blocks, by resident bytes, largest
 * first: writes at most `capacity` indices and returns the number of rows.
 */
size_t th_rss_rows(
	const struct th_rss *rss, enum th_breakdown_kind kind, size_t *rows, size_t capacity);

#endif
