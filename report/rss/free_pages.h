/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many pages of a heap hold no live block, estimated from the positions of the sampled
 * ones.
 *
 * Sampling thins blocks out evenly: of blocks with inclusion probability p, one in 1/p is seen.
 * So a range 1/p times as long as the one that must be empty holds no sampled block as often as
 * that one holds no block at all. A page is empty when no block of s bytes begins in the page +
 * s bytes before its end; each sampled block therefore covers (page + s) / p bytes around
 * itself, and the part of the heap that none covers is an unbiased estimate of the part in
 * empty pages, where the density of blocks changes little over this length (a Boolean model:
 * Chiu, Stoyan, Kendall, Mecke, Stochastic Geometry and its Applications, 3.1).
 *
 * Where blocks are dense this length is many times the distance of sampled blocks, and a
 * fraction of it is enough to rule out empty pages. So no block covers more than a few such
 * distances, and the borders of dense regions stay sharp.
 *
 * The estimate is too low where blocks cluster within less than that.
 */
#ifndef TH_REPORT_RSS_FREE_PAGES_H
#define TH_REPORT_RSS_FREE_PAGES_H

#include <stddef.h>

/* A sampled live block. */
struct th_placed_block {
	double at;     /* resident bytes of the heap below its middle */
	double bytes;  /* resident bytes of it, with the allocator's overhead */
	double weight; /* number of blocks that it represents, 1/p */
};

struct th_free_pages {
	double bytes;
	double error; /* half the width of a 95 % interval */
};

/*
 * `heap` bytes in pages of `page` bytes. Sorts the blocks. Without blocks the result is all of
 * it.
 */
struct th_free_pages
th_free_pages_estimate(struct th_placed_block *blocks, size_t count, double heap, double page);

#endif
