/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `leaks` as a whole, as JSON. */
#ifndef TH_REPORT_VIEWS_OUTCOME_PARTS_H
#define TH_REPORT_VIEWS_OUTCOME_PARTS_H

#include <jansson.h>

#include "report/leaks/leaks.h"

/*
 * {"verdict", "leaks", "growth_bytes_per_s", "detection_limits_bytes_per_s", "reason", "advice"}
 * and, with --limit, "limit_bytes_per_s" and "limit_reached"; a new reference. Reason and
 * advice are null if there is nothing to say.
 */
json_t *th_outcome_json(const struct th_leaks *leaks);

/* The sentence that `leaks` begins with; a new reference. */
json_t *th_outcome_headline_json(const struct th_leaks *leaks);

#endif
