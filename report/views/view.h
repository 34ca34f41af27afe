/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views: each prints a profile in its way.  Nothing here computes a number.  Errors of the
 * stream are the caller's to check.
 */
#ifndef TH_REPORT_VIEWS_VIEW_H
#define TH_REPORT_VIEWS_VIEW_H

#include <stdio.h>

#include "report/profile/diff.h"
#include "report/views/health.h"
#include "report/leaks/leaks.h"
#include "report/profile/profile.h"

/* A line that says which stacks were chosen and how they are shown; nothing without filters. */
void th_view_filters(FILE *file, const struct th_options *options);

/* A row of a table of heaps: bytes, objects and their intervals. */
void th_view_total(FILE *file, enum th_heap heap, const struct th_estimate *bytes,
	const struct th_estimate *objects);

/* Totals, top sites, health, what to do next; `program` is how to call this tool again. */
void th_view_summary(FILE *file, const struct th_profile *profile,
	const struct th_health *health, const char *program);

/* The same in about ten lines: fewer figures, with the same qualifications as in the summary. */
void th_view_brief(FILE *file, const struct th_profile *profile, const struct th_health *health,
	const char *program);

/* The call tree, both heaps side by side. */
void th_view_tree(FILE *file, const struct th_profile *profile);

/* "root;...;leaf value", one line per stack, sorted. */
void th_view_collapsed(FILE *file, const struct th_profile *profile);

/* One JSON object with every row. */
void th_view_json(FILE *file, const struct th_profile *profile);

/* Findings, for people and for programs. */
void th_view_leaks(FILE *file, const struct th_leaks *leaks);
void th_view_leaks_json(FILE *file, const struct th_leaks *leaks);

/* What changed between two moments, for people and for programs. */
void th_view_diff(FILE *file, const struct th_diff *diff);
void th_view_diff_json(FILE *file, const struct th_diff *diff);

/* The protocol buffer of pprof, gzipped; values are rounded so that they add up. */
void th_view_pprof(FILE *file, const struct th_profile *profile);

/* The JSON of speedscope: one profile for each heap and value, that of the options first. */
void th_view_speedscope(FILE *file, const struct th_profile *profile);

/* A page to look at in a browser, in one file. */
void th_view_flamegraph(FILE *file, const struct th_profile *profile);

/*
 * The account of resident memory, for people and for programs.  The profile must leave nothing
 * out and its recording hold an account.
 */
void th_view_rss(FILE *file, const struct th_profile *profile);
void th_view_rss_json(FILE *file, const struct th_profile *profile);

/* Every record of a log, by its own description of itself. */
void th_view_dump(FILE *file, const struct th_reader *reader, bool without_command);

#endif
