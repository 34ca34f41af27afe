/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sweep over the ends of the covered ranges finds what no block covers and what exactly one
 * block covers; the sum of the squares of the latter is the variance (Poincare inequality for
 * Poisson processes; Last and Penrose, Lectures on the Poisson Process, chapter 18).
 */
#include "report/rss/free_pages.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/sort.h"

/* Neighbors used for the local mean distance of sampled blocks. */
#define NEIGHBOURS 4
/*
 * Maximum range that a block covers to each side, in mean distances. The smaller of two mean
 * distances of 4 is on average 0.72 of the true one, and one gap in 300 is longer than 2 * 4 *
 * 0.72 of them.
 */
#define DISTANCES 4
/* Maximum occupancy of a heap: the estimate of its contents may exceed its size. */
#define CROWDED 0.9

/* One end of the range that a block covers. */
struct border {
	double at;
	size_t block;
	int step; /* +1: the range begins */
};

TH_COMPARE(by_place, struct th_placed_block, th_order(left->at, right->at))

TH_COMPARE(by_border, struct border, th_order(left->at, right->at))

/*
 * Mean distance of sampled blocks on the denser side of a block; infinite if it has few
 * neighbors.
 */
static double
distance(const struct th_placed_block *blocks, size_t count, size_t index)
{
	double least = INFINITY;

	if (index >= NEIGHBOURS)
		least = blocks[index].at - blocks[index - NEIGHBOURS].at;
	if (index + NEIGHBOURS < count)
		least = fmin(least, blocks[index + NEIGHBOURS].at - blocks[index].at);
	return least / NEIGHBOURS;
}

/*
 * Blocks do not overlap: if they take a part q of the heap, the bytes of the next block are
 * free with probability 1 - q, and not exp(-q).
 */
static double
crowding(const struct th_placed_block *blocks, size_t count, double heap)
{
	double taken = 0;

	for (size_t i = 0; i < count; i++)
		taken += blocks[i].bytes * blocks[i].weight;
	double part = fmin(taken / heap, CROWDED);
	return part > 0 ? -log1p(-part) / part : 1;
}

/* Range that a block of weight `weight` covers, to either side. */
static double
reach(const struct th_placed_block *block, double weight, double page, double apart)
{
	double least = (page + block->bytes) / 2;

	return fmin(least * fmax(1, weight), fmax(least, DISTANCES * apart));
}

/*
 * At the ends of the heap there is room on one side only, and a block counts for the other side
 * too.
 */
static void
cover(struct border *borders, const struct th_placed_block *block, size_t index, double half,
	double heap)
{
	double start = block->at - half;
	double end = block->at + half;

	if (start < half)
		start = 0;
	if (end > heap - half)
		end = heap;
	borders[0] = (struct border){start, index, +1};
	borders[1] = (struct border){end, index, -1};
}

/* Adds up what no block covers, and in `alone` what each block alone covers. */
static double
sweep(const struct border *borders, size_t count, double heap, double *alone)
{
	double at = 0;
	double uncovered = 0;
	size_t covering = 0;
	size_t sum = 0; /* of the indices of the covering blocks */

	for (size_t i = 0; i < count; i++) {
		const struct border *border = &borders[i];

		if (!covering)
			uncovered += border->at - at;
		else if (covering == 1)
			alone[sum] += border->at - at;
		at = border->at;
		covering = border->step > 0 ? covering + 1 : covering - 1;
		sum = border->step > 0 ? sum + border->block : sum - border->block;
	}
	return uncovered + fmax(0, heap - at);
}

struct th_free_pages
th_free_pages_estimate(struct th_placed_block *blocks, size_t count, double heap, double page)
{
	struct border *borders = th_allocate(2 * count + 1, sizeof(*borders));
	double *alone = th_allocate(count + 1, sizeof(*alone));
	struct th_free_pages free_pages = {heap, 0};
	double crowd = crowding(blocks, count, heap);
	double variance = 0;

	th_sort(blocks, count, by_place);
	for (size_t i = 0; i < count; i++) {
		double weight = 1 + (blocks[i].weight - 1) * crowd;
		double half = reach(&blocks[i], weight, page, distance(blocks, count, i));

		cover(&borders[2 * i], &blocks[i], i, half, heap);
	}
	if (count) {
		th_sort(borders, 2 * count, by_border);
		free_pages.bytes = sweep(borders, 2 * count, heap, alone);
	}
	for (size_t i = 0; i < count; i++)
		variance += alone[i] * alone[i];
	free_pages.error = 1.96 * sqrt(variance);
	free(borders);
	free(alone);
	return free_pages;
}
