/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What malloc_trim(0) would release of the heaps of a snapshot: the pages without a live block.
 */
#ifndef TH_REPORT_RSS_TRIM_H
#define TH_REPORT_RSS_TRIM_H

#include <stdint.h>

#include "report/log/recording.h"
#include "report/rss/free_pages.h"
#include "report/statistics/estimate.h"

/* An address range of the heaps; the resident bytes of all ranges count as one line. */
struct th_heap_stretch {
	uint64_t start;
	uint64_t bytes;
	double resident;
	double below; /* resident bytes of the ranges before it */
};

struct th_trim {
	TH_ARRAY(struct th_heap_stretch, stretches); /* by address */
	TH_ARRAY(struct th_placed_block, blocks);
	double resident; /* of all ranges */
};

/* Reads the heaps of the snapshot with that number. */
void th_trim_init(struct th_trim *trim, const struct th_recording *recording, uint32_t account);
void th_trim_deinit(struct th_trim *trim);

/*
 * Adds a sampled live block with `bytes` resident bytes that represents `weight` blocks. Blocks
 * outside the heaps are ignored.
 */
void th_trim_add(struct th_trim *trim, uint64_t address, double bytes, double weight);

/*
 * Of `heaps` resident bytes, `retained` of which are free: the estimate assumes that blocks are
 * spread evenly over a few distances of sampled blocks, `high` that they are packed as densely
 * as possible. If the snapshot does not record the positions of the heaps, evenly over all of
 * them.
 */
struct th_estimate th_trim_estimate(
	struct th_trim *trim, double heaps, const struct th_estimate *retained, double page);

#endif
