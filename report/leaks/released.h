/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the memory of a finding after the time at which it is judged. */
#ifndef TH_REPORT_LEAKS_RELEASED_H
#define TH_REPORT_LEAKS_RELEASED_H

#include <stdbool.h>

#include "report/leaks/evidence.h"
#include "report/profile/profile.h"

/* The part of a finding's live bytes that was freed later in the recording, 0 to 1. */
double th_released_part(const struct th_evidence *evidence);

/* Whether the finding was released only because the process ended: most of it, in teardown. */
bool
th_released_only_at_exit(const struct th_profile *profile, const struct th_evidence *evidence);

/*
 * "released only at exit: 98 % of it was freed after 14.2 s", to be freed; NULL if nothing
 * notable was freed later.
 */
char *th_released_text(const struct th_profile *profile, const struct th_evidence *evidence);

#endif
