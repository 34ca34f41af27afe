/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What malloc_trim(0) would give back of the heaps of an account: the pages without a live block.
 */
#ifndef TH_REPORT_RSS_TRIM_H
#define TH_REPORT_RSS_TRIM_H

#include <stdint.h>

#include "report/statistics/estimate.h"
#include "report/rss/free_pages.h"
#include "report/log/recording.h"

/* A stretch of the heaps; what is resident of all stretches counts as one line. */
struct th_heap_stretch {
	uint64_t start;
	uint64_t bytes;
	double resident;
	double below; /* resident bytes of the stretches before it */
};

struct th_trim {
	TH_ARRAY(struct th_heap_stretch, stretches); /* by address */
	TH_ARRAY(struct th_placed_block, blocks);
	double resident; /* of all stretches */
};

/* The heaps as the account of that number has them. */
void th_trim_init(struct th_trim *trim, const struct th_recording *recording, uint32_t account);
void th_trim_deinit(struct th_trim *trim);

/*
 * Adds a sampled live block of which `bytes` are in memory and which stands for `weight` blocks.
 * One outside the heaps says nothing.
 */
void th_trim_add(struct th_trim *trim, uint64_t address, double bytes, double weight);

/*
 * Of `heaps` resident bytes, `retained` of which are free: the estimate supposes that blocks lie
 * evenly over some distances of sampled ones, `high` that they stand as close together as can be.
 * Where the account does not say where the heaps lie, evenly over all of them.
 */
struct th_estimate th_trim_estimate(
	struct th_trim *trim, double heaps, const struct th_estimate *retained, double page);

#endif
