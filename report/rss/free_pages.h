/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many pages of a heap hold no live block, by where the sampled ones lie.
 *
 * Sampling thins blocks out evenly: of blocks with inclusion probability p, one in 1/p is seen.
 * So a stretch 1/p times as long as the one that must be empty holds no sampled block as often as
 * that one holds no block at all.  A page is empty when no block of s bytes begins in the page + s
 * bytes before its end; each sampled block therefore covers (page + s) / p bytes around itself, and
 * the part of the heap that none covers is an unbiased estimate of the part in empty pages,
 * wherever the density of blocks changes little over such a length (a Boolean model: Chiu, Stoyan,
 * Kendall, Mecke, Stochastic Geometry and its Applications, 3.1).
 *
 * Where blocks are dense that length is many times the distance of sampled blocks, and none of
 * it is needed to say that no page is empty there; so no block covers more than a few such
 * distances, and the borders of dense regions stay sharp.
 *
 * Blocks that stand together within less than that leave more pages empty than is said.
 */
#ifndef TH_REPORT_RSS_FREE_PAGES_H
#define TH_REPORT_RSS_FREE_PAGES_H

#include <stddef.h>

/* A sampled live block. */
struct th_placed_block {
	double at;     /* resident bytes of the heap below its middle */
	double bytes;  /* of it in memory, with what the allocator adds */
	double weight; /* blocks that it stands for, 1/p */
};

struct th_free_pages {
	double bytes;
	double error; /* half the width of a 95 % interval */
};

/* `heap` bytes in pages of `page` bytes.  Sorts the blocks.  Without any: all of it. */
struct th_free_pages
th_free_pages_estimate(struct th_placed_block *blocks, size_t count, double heap, double page);

#endif
