/* SPDX-License-Identifier: Apache-2.0 */
/* What happened when, for the timeline of the page and for parts of the recording. */
#ifndef TH_REPORT_PAGE_TIMELINE_H
#define TH_REPORT_PAGE_TIMELINE_H

#include <stdio.h>

#include "report/profile.h"

/* Prints the members "cells" and "timeline"; `peak` is when most bytes were alive. [offline] */
void th_page_timeline_print(
	FILE *file, const struct th_profile *profile, const struct th_moment *peak);

#endif
