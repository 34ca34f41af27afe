/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the rows that are no leaks may grow: what "no leak above" may claim at most.
 */
#ifndef TH_REPORT_LEAKS_BOUNDS_H
#define TH_REPORT_LEAKS_BOUNDS_H

#include "report/leaks/leaks.h"

/*
 * Sets row_limit of the leaks to the largest upper end of the growth of a row that is no leak and has
 * not stopped growing, by heap, and `unsettled` to the finding of most live bytes that is unclear and may grow by more than
 * the detection limit.  After the findings are known.
 */
void th_bounds_find(struct th_leaks *leaks);

/*
 * Whether a finding is listed by default: a leak, or unclear with a growth that is above the detection
 * limit or that no limit was computed for.
 */
bool th_bounds_is_listed(const struct th_leaks *leaks, const struct th_listed *listed);

#endif
