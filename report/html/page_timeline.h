/* SPDX-License-Identifier: Apache-2.0 */
/* Events over time, for the timeline of the page and for ranges of the recording. */
#ifndef TH_REPORT_HTML_PAGE_TIMELINE_H
#define TH_REPORT_HTML_PAGE_TIMELINE_H

#include <stdio.h>

#include "report/base/worker.h"
#include "report/profile/profile.h"
#include "report/profile/time_slices.h"

/* The cells of a profile, computed by a worker while other parts of the page are printed. */
struct th_page_timeline {
	const struct th_profile *profile;
	struct th_time_slices cells;
	struct th_worker aside;
};

/* Starts the worker; `timeline` must not be moved until th_page_timeline_end(). */
void
th_page_timeline_begin(struct th_page_timeline *timeline, const struct th_profile *profile);

/*
 * Waits for the worker, prints the members "cells" and "timeline" and releases the cells;
 * `peak` is the time of the most live bytes.
 */
void th_page_timeline_end(
	struct th_page_timeline *timeline, FILE *file, const struct th_moment *peak);

#endif
