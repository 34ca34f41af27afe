/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of buffers that wait for their Cleaner, and the snapshots that they belong to. */
#ifndef TH_REPORT_RSS_BUFFERS_H
#define TH_REPORT_RSS_BUFFERS_H

#include "report/profile/profile.h"

/*
 * The count of a kind that is valid for a snapshot: made at most ten seconds before it, with no
 * GC in between; NULL when there is none.
 */
const struct th_decoded_buffers *th_breakdown_buffers(const struct th_profile *profile,
	const struct th_decoded_account *head, enum th_buffers_kind kind);

/* The last snapshot with a valid count; NULL when there is none. */
const struct th_decoded_account *th_breakdown_of_last_count(const struct th_profile *profile);

/* The name of the buffer pool in java.nio, "foreign" for buffers without a pool. */
const char *th_breakdown_buffers_name(enum th_buffers_kind kind);

#endif
