/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory over time, for the page. */
#ifndef TH_REPORT_HTML_PAGE_MEMORY_H
#define TH_REPORT_HTML_PAGE_MEMORY_H

#include <stdio.h>

#include "report/leaks/leaks.h"
#include "report/profile/profile.h"

/*
 * Prints the member "memory": null if the log contains no breakdown, or if the options exclude
 * blocks, without which no breakdown can be computed. `leaks`: the findings; NULL: not known.
 */
void th_page_memory_print(
	FILE *file, const struct th_profile *profile, const struct th_leaks *leaks);

#endif
