/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malloc's memory in an account: what the log has of it as a whole is divided among its owners by
 * the sampled blocks that the account looked at.
 */
#ifndef TH_REPORT_RSS_MALLOC_H
#define TH_REPORT_RSS_MALLOC_H

#include "report/rss/breakdown.h"

/* Malloc's own memory, as the log has it. */
struct th_malloc_memory {
	double heaps;  /* resident bytes of its heaps */
	double mapped; /* of sampled blocks with mappings of their own */
	double mapped_size;
};

/*
 * Fills the lines of malloc, what of them are buffers, what malloc_trim(0) would give back, and
 * what of each row is in memory.
 */
void
th_breakdown_divide_malloc(struct th_breakdown *account, const struct th_malloc_memory *memory);

#endif
