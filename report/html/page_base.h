/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshot that a page is compared with. */
#ifndef TH_REPORT_HTML_PAGE_BASE_H
#define TH_REPORT_HTML_PAGE_BASE_H

#include <stdio.h>

#include "report/profile/profile.h"

/*
 * Prints the member "base": command, seconds and at_s, and the names and rows of the profile with
 * numbers of its own.
 */
void th_page_base_print(FILE *file, const struct th_profile *profile);

#endif
