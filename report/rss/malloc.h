/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malloc's memory in a breakdown: its resident total in the log is divided among its users by
 * the sampled blocks that the snapshot has data on.
 */
#ifndef TH_REPORT_RSS_MALLOC_H
#define TH_REPORT_RSS_MALLOC_H

#include "report/rss/breakdown.h"

/* Malloc's own memory, as recorded in the log. */
struct th_malloc_memory {
	double heaps;  /* resident bytes of its heaps */
	double mapped; /* of sampled blocks with their own mappings */
	double mapped_size;
};

/*
 * Fills the lines of malloc, the part of them that is buffers, what malloc_trim(0) would
 * release, and the resident bytes of each row.
 */
void
th_breakdown_divide_malloc(struct th_breakdown *account, const struct th_malloc_memory *memory);

#endif
