/* SPDX-License-Identifier: Apache-2.0 */
/* Events over time, for the timeline of the page and for ranges of the recording. */
#ifndef TH_REPORT_HTML_PAGE_TIMELINE_H
#define TH_REPORT_HTML_PAGE_TIMELINE_H

#include <stdio.h>

#include "report/profile/profile.h"

/* Prints the members "cells" and "timeline"; `peak` is the time of the most live bytes. */
void th_page_timeline_print(
	FILE *file, const struct th_profile *profile, const struct th_moment *peak);

#endif
