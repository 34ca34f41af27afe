/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `leaks`, for the page. */
#ifndef TH_REPORT_HTML_PAGE_LEAKS_H
#define TH_REPORT_HTML_PAGE_LEAKS_H

#include <stdio.h>

#include "report/base/worker.h"
#include "report/html/page_names.h"
#include "report/leaks/leaks.h"

/* The findings of a profile, computed by a worker while other parts of the page are printed. */
struct th_page_leaks {
	struct th_leaks leaks;
	struct th_worker aside;
};

/*
 * Numbers the frames of findings that are no samples.  Until th_page_leaks_wait(), the frames and
 * paths of the profile must not change.
 */
void th_page_leaks_begin(struct th_page_leaks *leaks, struct th_page_names *names);

/* Waits for the worker. */
void th_page_leaks_wait(struct th_page_leaks *leaks);

/* Prints the members "outcome", "leaks", "leaks_left_out", "finding_rows" and "sources". */
void th_page_leaks_print(
	FILE *file, const struct th_page_names *names, const struct th_page_leaks *leaks);

void th_page_leaks_end(struct th_page_leaks *leaks);

#endif
