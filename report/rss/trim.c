/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What malloc_trim(0) would release (trim.h): maps addresses of sampled blocks to positions in
 * the resident bytes of all heap ranges, and hands these to free_pages.c.
 */
#include "report/rss/trim.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "unify/shared/bisect.h"

static void
add_stretch(struct th_trim *trim, const uint64_t *words)
{
	const struct th_heap_stretch *last =
		trim->stretches_count ? &trim->stretches[trim->stretches_count - 1] : NULL;
	struct th_heap_stretch stretch = {
		.start = words[0],
		.bytes = words[1],
		.resident = (double)(words[2] < words[1] ? words[2] : words[1]),
		.below = trim->resident,
	};

	/* Out of order, or beyond the end of the address space: damage. */
	if (!stretch.bytes || stretch.start + stretch.bytes < stretch.start ||
		(last && stretch.start < last->start + last->bytes))
		return;
	th_array_append(trim, stretches, stretch);
	trim->resident += stretch.resident;
}

void
th_trim_init(struct th_trim *trim, const struct th_recording *recording, uint32_t account)
{
	*trim = (struct th_trim){0};
	for (size_t i = 0; i < recording->malloc_heaps_count; i++) {
		const struct th_decoded_malloc_heaps *heaps = &recording->malloc_heaps[i];

		for (uint32_t k = 0;
			heaps->account == account && k + 2 < heaps->stretches.count; k += 3)
			add_stretch(trim, &heaps->stretches.words[k]);
	}
}

void
th_trim_deinit(struct th_trim *trim)
{
	free(trim->stretches);
	free(trim->blocks);
}

static const struct th_heap_stretch *
find(const struct th_trim *trim, uint64_t address)
{
	const struct th_heap_stretch *stretches = trim->stretches;
	size_t begun = th_bisect(trim->stretches_count, i, stretches[i].start <= address);

	if (!begun || address - stretches[begun - 1].start >= stretches[begun - 1].bytes)
		return NULL;
	return &stretches[begun - 1];
}

void
th_trim_add(struct th_trim *trim, uint64_t address, double bytes, double weight)
{
	const struct th_heap_stretch *stretch = find(trim, address);
	struct th_placed_block block = {.bytes = bytes, .weight = weight};

	if (!stretch && trim->stretches_count)
		return;
	if (stretch)
		block.at = fmin(trim->resident, stretch->below + bytes / 2 +
							(double)(address - stretch->start) *
								stretch->resident /
								(double)stretch->bytes);
	th_array_append(trim, blocks, block);
}

/* Assumes that blocks are uniformly distributed. */
static double
free_if_even(const struct th_trim *trim, double heaps, double page)
{
	double taken = 0;

	for (size_t i = 0; i < trim->blocks_count; i++)
		taken += (page + trim->blocks[i].bytes) * trim->blocks[i].weight;
	return heaps > 0 ? heaps * exp(-taken / heaps) : 0;
}

struct th_estimate
th_trim_estimate(
	struct th_trim *trim, double heaps, const struct th_estimate *retained, double page)
{
	struct th_free_pages found = {free_if_even(trim, heaps, page), 0};
	double scale = 1;

	if (trim->resident > 0) {
		found = th_free_pages_estimate(
			trim->blocks, trim->blocks_count, trim->resident, page);
		scale = heaps / trim->resident;
	}
	double estimate = fmax(0, fmin(retained->estimate, found.bytes * scale));
	return (struct th_estimate){
		.estimate = estimate,
		.low = fmax(0, estimate - found.error * scale),
		.high = fmax(retained->high, estimate),
		.samples = trim->blocks_count,
	};
}
