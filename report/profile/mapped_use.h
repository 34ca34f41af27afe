/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact figures of mapped memory: the library keeps all ranges in a table and writes their sums
 * once a second and at the end.
 */
#ifndef TH_REPORT_PROFILE_MAPPED_USE_H
#define TH_REPORT_PROFILE_MAPPED_USE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/profile/profile.h"
#include "report/statistics/estimate.h"

/* The last sums written before the time of the view; NULL: none. */
const struct th_decoded_mapped_use *th_mapped_use_at(const struct th_profile *profile);

/*
 * The accessible bytes at the time of the view. False where an estimate has to be used: the
 * view or the recording leaves something out, the time lies between two writes of the sums, or
 * the log is incomplete.
 */
bool th_mapped_use_live(const struct th_profile *profile, struct th_estimate *ret);

/* One line for people; nothing without data. */
void th_mapped_use_print(FILE *file, const struct th_profile *profile);

#endif
