/* SPDX-License-Identifier: Apache-2.0 */
/* One finding of `leaks` as an object of the page. */
#ifndef TH_REPORT_HTML_PAGE_FINDINGS_H
#define TH_REPORT_HTML_PAGE_FINDINGS_H

#include <jansson.h>

#include "report/holders/holders.h"
#include "report/html/page_names.h"
#include "report/leaks/leaks.h"

/* A finding of samples, measured in all its heaps; a new reference. */
json_t *th_page_finding_json(const struct th_page_names *names,
	const struct th_held_samples *held, const struct th_listed *listed);

/*
 * Threads or class loaders; a new reference.  The frames of the maker must be numbered
 * (th_page_names_add()).
 */
json_t *th_page_tallied_json(const struct th_page_names *names,
	const struct th_held_samples *held, const struct th_tallied *tallied);

/* The stack of the maker as the options show it. */
struct th_path
th_page_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied);

#endif
