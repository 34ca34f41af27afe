/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the summary about memory that is alive: totals at the moment of the view, their
 * peak, and what the collections of the Java heap say about them.
 */
#ifndef TH_REPORT_VIEWS_LIVE_SECTION_H
#define TH_REPORT_VIEWS_LIVE_SECTION_H

#include <stdio.h>

#include "report/views/health.h"
#include "report/profile/profile.h"

/* The totals. */
void th_live_section_totals(FILE *file, const struct th_profile *profile);

/* The collections; nothing without a Java VM. */
void th_live_section_collections(FILE *file, const struct th_profile *profile);

/*
 * Which part of what counts as alive in the Java heap may be garbage, in sentences for the summary
 * and its brief form: they belong wherever the live figure is printed.
 */
void th_live_section_doubts(FILE *file, const struct th_profile *profile);

/* Says what the figures about live memory leave out, if anything. */
void th_live_section_health(struct th_health *health, const struct th_profile *profile);

#endif
