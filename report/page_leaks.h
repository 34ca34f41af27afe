/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `leaks`, for the page. */
#ifndef TH_REPORT_PAGE_LEAKS_H
#define TH_REPORT_PAGE_LEAKS_H

#include <stdio.h>

#include "report/page_names.h"

/*
 * Prints the members "leaks" and "leaks_left_out".  Verdicts are about the end of a recording:
 * null in a view of another moment. [offline]
 */
void th_page_leaks_print(FILE *file, const struct th_page_names *names);

#endif
