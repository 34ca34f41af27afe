/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a profile sorted by what they show, and its samples grouped by row, or by a key of rows. */
#ifndef TH_REPORT_PROFILE_ORDER_H
#define TH_REPORT_PROFILE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "report/profile/profile.h"

/*
 * The indices of all rows by their paths, frame by frame from the root, so that rows with a common
 * beginning are neighbors; those below the group of the VM's own threads are last. The caller frees
 * the array.
 */
uint32_t *th_row_order_by_path(const struct th_profile *profile);

struct th_sample_order {
	uint32_t *starts;  /* in `samples`, by group, with one more for the end */
	uint32_t *samples; /* indices in the samples of the group's heap, ascending */
};

/*
 * Groups the samples of all rows: `groups`, by row, has numbers below `count`, and rows of one
 * group are of one heap; NULL: each row is a group.
 */
void th_sample_order_init(struct th_sample_order *order, const struct th_profile *profile,
	const uint32_t *groups, size_t count);
void th_sample_order_deinit(struct th_sample_order *order);

#endif
