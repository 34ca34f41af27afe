/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in the order of what they show, so that those with the same beginning are neighbours.
 */
#ifndef TH_REPORT_PROFILE_ROW_ORDER_H
#define TH_REPORT_PROFILE_ROW_ORDER_H

#include <stdint.h>

#include "report/profile/profile.h"

/*
 * The indices of all rows by their paths, frame by frame from the root; those below the group of
 * the VM's own threads are last.  The array is the caller's, to be freed.
 */
uint32_t *th_row_order_by_path(const struct th_profile *profile);

#endif
