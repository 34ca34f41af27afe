/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of buffers that wait for their Cleaner, and the accounts that they belong to. */
#ifndef TH_REPORT_RSS_BUFFERS_H
#define TH_REPORT_RSS_BUFFERS_H

#include "report/profile/profile.h"

/*
 * The count of a kind that holds for an account: made at most ten seconds before it, with no
 * collection in between; NULL when there is none.
 */
const struct th_decoded_buffers *th_breakdown_buffers(const struct th_profile *profile,
	const struct th_decoded_account *head, enum th_buffers_kind kind);

/* The last account for which a count holds; NULL when there is none. */
const struct th_decoded_account *th_breakdown_of_last_count(const struct th_profile *profile);

/* What java.nio calls its pool of them, "foreign" for those without. */
const char *th_breakdown_buffers_name(enum th_buffers_kind kind);

#endif
