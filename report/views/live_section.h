/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of the summary about live memory: totals at the snapshot time, their peak, and
 * the garbage collections.
 */
#ifndef TH_REPORT_VIEWS_LIVE_SECTION_H
#define TH_REPORT_VIEWS_LIVE_SECTION_H

#include <stdio.h>

#include "report/profile/profile.h"
#include "report/views/health.h"

/* Live totals of each heap. */
void th_live_section_totals(FILE *file, const struct th_profile *profile);

/* The time of live values and its reason, if they are taken before the end of the process. */
void th_live_section_moment(FILE *file, const struct th_profile *profile);

/* Garbage collections; prints nothing without a Java VM. */
void th_live_section_collections(FILE *file, const struct th_profile *profile);

/*
 * States which part of the Java heap that counts as live may be garbage.  Printed wherever the
 * live figure is printed: in the summary and in its brief form.
 */
void th_live_section_doubts(FILE *file, const struct th_profile *profile);

/* Adds lines about what the live figures leave out, if anything. */
void th_live_section_health(struct th_health *health, const struct th_profile *profile);

#endif
