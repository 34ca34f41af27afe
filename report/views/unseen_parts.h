/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording by import slots does not see (report/profile/unseen.h), in several outputs. */
#ifndef TH_REPORT_VIEWS_UNSEEN_PARTS_H
#define TH_REPORT_VIEWS_UNSEEN_PARTS_H

#include <jansson.h>

#include "report/profile/profile.h"
#include "report/views/health.h"

/* One line; none if the process was not recorded by import slots. */
void th_unseen_parts_health(struct th_health *health, const struct th_profile *profile);

/* A new reference; null if the process was not recorded by import slots. */
json_t *th_unseen_parts_json(const struct th_profile *profile);

#endif
