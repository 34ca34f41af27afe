/* SPDX-License-Identifier: Apache-2.0 */
/* What happened when, for the timeline of the page and for parts of the recording. */
#ifndef TH_REPORT_HTML_PAGE_TIMELINE_H
#define TH_REPORT_HTML_PAGE_TIMELINE_H

#include <stdio.h>

#include "report/base/worker.h"
#include "report/profile/time_slices.h"
#include "report/profile/profile.h"

/* The cells of a profile, made aside while other parts of the page are printed. */
struct th_page_timeline {
	const struct th_profile *profile;
	struct th_time_slices cells;
	struct th_worker aside;
};

/* The timeline must stay where it is until it is printed. */
void
th_page_timeline_begin(struct th_page_timeline *timeline, const struct th_profile *profile);

/*
 * Prints the members "cells" and "timeline", which is over then; `peak` is when most bytes were
 * alive.
 */
void th_page_timeline_end(
	struct th_page_timeline *timeline, FILE *file, const struct th_moment *peak);

#endif
