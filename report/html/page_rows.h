/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the page with the sums of their figures, and the calibration of each heap. */
#ifndef TH_REPORT_HTML_PAGE_ROWS_H
#define TH_REPORT_HTML_PAGE_ROWS_H

#include <stdio.h>

#include "report/html/page_names.h"

/* Prints the members "rows", "sums" and "heaps"; `peak` is the time of the most live bytes. */
void
th_page_rows_print(FILE *file, const struct th_page_names *names, const struct th_moment *peak);

#endif
