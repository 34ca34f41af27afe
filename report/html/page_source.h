/* SPDX-License-Identifier: Apache-2.0 */
/* The source lines around the frames of findings (--source). */
#ifndef TH_REPORT_HTML_PAGE_SOURCE_H
#define TH_REPORT_HTML_PAGE_SOURCE_H

#include <stdio.h>

#include "report/html/page_names.h"
#include "report/leaks/leaks.h"

/*
 * Prints the member "sources": [frame, number of the first line, lines] for each frame of a finding
 * whose file is below the directory of the options; an empty list without --source. A file is
 * found by its name and as much of its path (Java: of its package) as agrees; files that agree
 * equally well are ambiguous and left out.
 */
void th_page_source_print(
	FILE *file, const struct th_page_names *names, const struct th_leaks *leaks);

#endif
