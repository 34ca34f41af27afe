/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of mapped memory without sampling: the library keeps all ranges in a table and
 * writes their sums once a second and at the end.
 */
#ifndef TH_REPORT_PROFILE_MAPPED_USE_H
#define TH_REPORT_PROFILE_MAPPED_USE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/statistics/estimate.h"
#include "report/profile/profile.h"

/* The sums at the moment of the view, as of the last time they were written; NULL: none. */
const struct th_decoded_mapped_use *th_mapped_use_at(const struct th_profile *profile);

/*
 * The accessible bytes at the moment of the view.  False where an estimate must do: the view
 * leaves something out or the recording did, the moment lies between two times of writing, the log
 * ends without its last word.
 */
bool th_mapped_use_live(const struct th_profile *profile, struct th_estimate *ret);

/* One line for people; nothing where nothing is known. */
void th_mapped_use_print(FILE *file, const struct th_profile *profile);

#endif
