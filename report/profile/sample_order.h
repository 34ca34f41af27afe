/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a profile grouped by row, or by a key of rows, for iteration over the samples
 * of one group at a time.
 */
#ifndef TH_REPORT_PROFILE_SAMPLE_ORDER_H
#define TH_REPORT_PROFILE_SAMPLE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "report/profile/profile.h"

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
