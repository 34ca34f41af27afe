/* SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted by what they show, so that rows with a common beginning are neighbors. */
#ifndef TH_REPORT_PROFILE_ROW_ORDER_H
#define TH_REPORT_PROFILE_ROW_ORDER_H

#include <stdint.h>

#include "report/profile/profile.h"

/*
 * The indices of all rows by their paths, frame by frame from the root; those below the group
 * of the VM's own threads are last. The caller frees the array.
 */
uint32_t *th_row_order_by_path(const struct th_profile *profile);

#endif
