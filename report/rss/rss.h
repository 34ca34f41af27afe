/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a view of resident memory shows: the account of a moment, its verdict, and
 * the accounts over time.
 */
#ifndef TH_REPORT_RSS_RSS_H
#define TH_REPORT_RSS_RSS_H

#include "report/rss/breakdown.h"
#include "report/rss/verdict.h"

/* An account among those over time: its lines, without parts. */
struct th_rss_moment {
	double seconds;
	double resident;
	double lines[TH_BREAKDOWN_KINDS];
};

struct th_rss {
	const struct th_profile *profile;
	struct th_breakdown account; /* of the moment of the view */
	double seconds;              /* when that was taken */
	TH_ARRAY(struct th_rss_point, points);
	TH_ARRAY(struct th_rss_moment, moments); /* at most TH_RSS_MOMENTS, by time */
	struct th_rss_facts facts;
	struct th_rss_verdict verdict;
};

#define TH_RSS_MOMENTS 64

/* The profile must outlive it and its recording hold an account. */
void th_rss_init(struct th_rss *rss, const struct th_profile *profile);
void th_rss_deinit(struct th_rss *rss);

/*
 * The rows of the profile that make up a line of malloc's blocks, those with most in memory first:
 * writes at most `capacity` indices and returns how many there are.
 */
size_t th_rss_rows(
	const struct th_rss *rss, enum th_breakdown_kind kind, size_t *rows, size_t capacity);

#endif
