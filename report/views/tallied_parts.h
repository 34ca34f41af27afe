/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks of threads and class loaders in the outputs of leaks. */
#ifndef TH_REPORT_VIEWS_TALLIED_PARTS_H
#define TH_REPORT_VIEWS_TALLIED_PARTS_H

#include <jansson.h>
#include <stdio.h>

#include "report/holders/holders.h"
#include "report/leaks/leaks.h"

/* Prints what has the same cause as a leak, by its number. */
typedef void th_tallied_print_parts(FILE *file, const struct th_leaks *leaks, uint32_t leader);

/* Prints one leak as text, with what holds it. */
void th_tallied_print(FILE *file, const struct th_held_samples *held,
	const struct th_tallied *tallied, th_tallied_print_parts *print_parts);

/* Its line and figures, with a line feed; `between` the two. */
void th_tallied_print_headline(FILE *file, const struct th_leaks *leaks,
	const struct th_tallied *tallied, const char *between);

/* One line for each leak, in a report about resident memory; `leaks` may be NULL. */
void th_tallied_print_causes(FILE *file, const struct th_leaks *leaks);

/* The stack of what makes the threads or classes, as the options show it. */
struct th_path th_tallied_path(const struct th_leaks *leaks, const struct th_tallied *tallied);

/* One leak with the members of other findings; a new reference. */
json_t *th_tallied_json(const struct th_leaks *leaks, const struct th_tallied *tallied);

#endif
