/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides malloc's resident memory: sums the sampled blocks by line, scales them
 * down where they exceed the memory that is there, and leaves the rest to
 * TH_BREAKDOWN_MALLOC_RETAINED.
 */
#include "report/rss/breakdown.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/allocate.h"
#include "report/base/chunk.h"
#include "report/profile/resident_blocks.h"
#include "report/rss/free_pages.h"
#include "unify/shared/bisect.h"

/*
 * What malloc_trim(0) would release: the pages without a live block. Addresses of sampled blocks are
 * mapped to positions in the resident bytes of all heap ranges, and these handed to free_pages.c.
 */

/* An address range of the heaps; the resident bytes of all ranges count as one line. */
struct stretch {
	uint64_t start;
	uint64_t bytes;
	double resident;
	double below; /* resident bytes of the ranges before it */
};

struct trim {
	TH_ARRAY(struct stretch, stretches); /* by address */
	TH_ARRAY(struct th_placed_block, blocks);
	double resident; /* of all ranges */
};

static void
add_stretch(struct trim *trim, const uint64_t *words)
{
	const struct stretch *last = trim->stretches_count
					     ? &trim->stretches[trim->stretches_count - 1]
					     : NULL;
	struct stretch stretch = {
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

/* Reads the heaps of the snapshot with that number. */
static void
trim_init(struct trim *trim, const struct th_recording *recording, uint32_t account)
{
	*trim = (struct trim){0};
	for (size_t i = 0; i < recording->malloc_heaps_count; i++) {
		const struct th_decoded_malloc_heaps *heaps = &recording->malloc_heaps[i];

		for (uint32_t k = 0;
			heaps->account == account && k + 2 < heaps->stretches.count; k += 3)
			add_stretch(trim, &heaps->stretches.words[k]);
	}
}

static const struct stretch *
find(const struct trim *trim, uint64_t address)
{
	const struct stretch *stretches = trim->stretches;
	size_t begun = th_bisect(trim->stretches_count, i, stretches[i].start <= address);

	if (!begun || address - stretches[begun - 1].start >= stretches[begun - 1].bytes)
		return NULL;
	return &stretches[begun - 1];
}

/*
 * Adds a sampled live block with `bytes` resident bytes that represents `weight` blocks. Blocks
 * outside the heaps are ignored.
 */
static void
trim_add(struct trim *trim, uint64_t address, double bytes, double weight)
{
	const struct stretch *stretch = find(trim, address);
	struct th_placed_block block = {.bytes = bytes, .weight = weight};

	if (!stretch)
		return;
	block.at = fmin(trim->resident, stretch->below + bytes / 2 +
						(double)(address - stretch->start) *
							stretch->resident /
							(double)stretch->bytes);
	th_array_append(trim, blocks, block);
}

/*
 * Of `heaps` resident bytes, `retained` of which are free: the estimate assumes that blocks are
 * spread evenly over a few distances of sampled blocks, `high` that they are packed as densely
 * as possible.
 */
static struct th_estimate
trim_estimate(struct trim *trim, double heaps, const struct th_estimate *retained, double page)
{
	struct th_free_pages found = th_free_pages_estimate(
		trim->blocks, trim->blocks_count, trim->resident, page);
	double scale = trim->resident > 0 ? heaps / trim->resident : 0;

	double estimate = fmax(0, fmin(retained->estimate, found.bytes * scale));
	return (struct th_estimate){
		.estimate = estimate,
		.low = fmax(0, estimate - found.error * scale),
		.high = fmax(retained->high, estimate),
		.samples = trim->blocks_count,
	};
}

/* Live blocks */

enum place { IN_HEAP, OWN_MAPPING, PLACES };

/* Sums of live blocks by line and place (heap or own mapping). */
struct live_sums {
	struct th_estimator touched[TH_BREAKDOWN_KINDS][PLACES];
	struct th_estimator overhead; /* in the heaps */
	struct th_estimator live[TH_BREAKDOWN_KINDS];
	struct th_estimator unjudged;
	struct th_estimator all;
	struct th_estimator all_touched;
	struct trim trim; /* blocks in the heaps, and their positions */
};

static void
add_block(struct th_breakdown *account, struct live_sums *sums, size_t index, uint32_t row,
	uint64_t word)
{
	const struct th_profile *profile = account->profile;
	const struct th_sample *sample =
		&profile->recording->samples[TH_HEAP_NATIVE].items[index];
	enum th_breakdown_kind kind = (enum th_breakdown_kind)account->row_kinds[row];
	const struct th_calibration *calibration = &profile->heaps[TH_HEAP_NATIVE];
	enum place place = word & TH_TOUCHED_OWN_MAPPING ? OWN_MAPPING : IN_HEAP;
	double part = th_touched_bytes(sample, word);

	struct th_estimator touched = {0}, live = {0};

	th_lifetimes_add_part(&profile->lifetimes, calibration, TH_HEAP_NATIVE, sample,
		&profile->at, part, &touched);
	th_lifetimes_add_part(&profile->lifetimes, calibration, TH_HEAP_NATIVE, sample,
		&profile->at, (double)sample->size, &live);
	th_estimator_merge(&sums->touched[kind][place], &touched);
	th_estimator_merge(&account->row_touched[row], &touched);
	th_estimator_merge(&sums->all_touched, &touched);
	if (account->row_buffers[row] &&
		(!account->judgement || sample->time >= account->judgement->births))
		th_estimator_merge(&sums->unjudged, &touched);
	th_estimator_merge(&sums->live[kind], &live);
	th_estimator_merge(&sums->all, &live);
	if (place != IN_HEAP || !sample->size)
		return;
	/*
	 * The header of a partly resident block is resident with the same probability as its
	 * bytes.
	 */
	double head = (th_chunk_bytes(sample->size) - (double)sample->size) * part /
		      (double)sample->size;
	th_lifetimes_add_part(&profile->lifetimes, calibration, TH_HEAP_NATIVE, sample,
		&profile->at, head, &sums->overhead);
	trim_add(&sums->trim, th_recording_address(profile->recording, sample), part + head,
		live.objects.seen + live.objects.unseen);
}

static void
init_rows(struct th_breakdown *account)
{
	const struct th_profile *profile = account->profile;

	account->row_kinds = th_allocate(profile->rows_count + 1, 1);
	account->row_buffers = th_allocate(profile->rows_count + 1, 1);
	account->row_touched = th_allocate(
		profile->rows_count + 1, sizeof(*account->row_touched));
	for (size_t i = 0; i < profile->rows_count; i++) {
		account->row_kinds[i] = (uint8_t)th_breakdown_kind_of(
			profile, &profile->rows[i]);
		account->row_buffers[i] = account->row_kinds[i] == TH_BREAKDOWN_MALLOC_DIRECT &&
					  th_breakdown_is_cleaned_buffer(
						  profile, &profile->rows[i]);
	}
}

/* Adds up the blocks that the snapshot has data on. */
static void
sum_blocks(struct th_breakdown *account, struct live_sums *sums)
{
	const struct th_profile *profile = account->profile;
	const struct th_samples *samples = &profile->recording->samples[TH_HEAP_NATIVE];
	struct th_resident_blocks touched;
	uint64_t word;

	trim_init(&sums->trim, profile->recording, account->head->account);
	init_rows(account);
	th_resident_blocks_init(&touched, profile->recording, account->head->account, NULL);
	for (size_t i = 0; i < samples->items_count; i++) {
		uint32_t row = profile->sample_rows[TH_HEAP_NATIVE][i];

		if (row != TH_NO_ROW &&
			th_resident_blocks_find(&touched, &samples->items[i], &word))
			add_block(account, sums, i, row, word);
	}
	th_resident_blocks_deinit(&touched);
}

static struct th_estimate
estimate(const struct th_breakdown *account, const struct th_estimator *sum)
{
	return th_profile_bytes(account->profile, TH_HEAP_NATIVE, TH_MEASURE_TOUCHED, sum);
}

static struct th_estimate
estimate_live(const struct th_breakdown *account, const struct th_estimator *sum)
{
	return th_profile_bytes(account->profile, TH_HEAP_NATIVE, TH_MEASURE_LIVE, sum);
}

/* Factor that scales `wanted` down to `available`. */
static double
cut(double wanted, double available)
{
	return wanted > available && wanted > 0 ? available / wanted : 1;
}

/*
 * Unsampled blocks with their own mappings are indistinguishable from other anonymous memory:
 * malloc gets the estimated part of it, and at most what the allocator reports.
 */
static double
unseen_mappings(const struct th_breakdown *account, const struct th_malloc_memory *memory)
{
	double unknown = account->lines[TH_BREAKDOWN_UNEXPLAINED].resident.estimate;

	if (account->allocator)
		unknown = fmin(unknown,
			fmax(0, (double)account->allocator->mapped - memory->mapped_size));
	return unknown;
}

static void
divide_heaps(struct th_breakdown *account, struct live_sums *sums, double heaps)
{
	struct th_estimate overhead = estimate(account, &sums->overhead);
	struct th_estimate *retained = &account->lines[TH_BREAKDOWN_MALLOC_RETAINED].resident;
	struct th_estimator all = sums->overhead;

	if (account->allocator && th_text_equals(account->allocator->name, "libc.so.6"))
		account->lines[TH_BREAKDOWN_MALLOC_OVERHEAD].resident = overhead;
	else
		overhead = (struct th_estimate){0};
	double wanted = overhead.estimate;
	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_APPLICATION;
		kind++) {
		account->lines[kind].resident = estimate(
			account, &sums->touched[kind][IN_HEAP]);
		wanted += account->lines[kind].resident.estimate;
		th_estimator_merge(&all, &sums->touched[kind][IN_HEAP]);
	}
	struct th_estimate total = estimate(account, &all);
	double factor = cut(wanted, heaps);
	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_OVERHEAD; kind++)
		account->lines[kind].resident = th_estimate_scale(
			account->lines[kind].resident, factor);
	*retained = (struct th_estimate){
		.estimate = heaps - wanted * factor,
		.low = fmax(0, heaps - fmax(total.high, wanted)),
		.high = fmax(heaps - fmin(total.low, wanted), heaps - wanted * factor),
		.samples = total.samples,
	};
	account->trimmed = trim_estimate(
		&sums->trim, heaps, retained, account->profile->recording->process.page_bytes);
}

static void
divide_mappings(struct th_breakdown *account, const struct live_sums *sums,
	const struct th_malloc_memory *memory)
{
	double available = memory->mapped + unseen_mappings(account, memory);
	struct th_estimate parts[TH_BREAKDOWN_KINDS];
	double wanted = 0;

	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_APPLICATION;
		kind++) {
		parts[kind] = estimate(account, &sums->touched[kind][OWN_MAPPING]);
		wanted += parts[kind].estimate;
	}
	double factor = cut(wanted, available);
	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_APPLICATION;
		kind++) {
		struct th_estimate *resident = &account->lines[kind].resident;

		parts[kind] = th_estimate_scale(parts[kind], factor);
		*resident = th_estimate_sum(resident, &parts[kind]);
	}
	double given = wanted * factor;
	struct th_breakdown_line *rest =
		&account->lines[given > memory->mapped ? TH_BREAKDOWN_UNEXPLAINED
						       : TH_BREAKDOWN_MALLOC_OVERHEAD];
	double left = memory->mapped - given;
	rest->resident.estimate += left;
	rest->resident.low = fmax(0, rest->resident.low + left);
	rest->resident.high += fmax(left, 0);
}

/* Part of a line already divided, so it cannot exceed the line. */
static struct th_estimate
part_of_buffers(const struct th_breakdown *account, const struct th_estimator *sum)
{
	struct th_estimate part = {0};
	double line = account->lines[TH_BREAKDOWN_MALLOC_DIRECT].resident.estimate;

	if (!sum->samples)
		return part;
	part = estimate(account, sum);
	return th_estimate_scale(part, cut(part.estimate, line));
}

static void
divide_buffers(struct th_breakdown *account, const struct live_sums *sums)
{
	const struct th_profile *profile = account->profile;
	struct th_estimator sum = {0};

	for (size_t i = 0; i < profile->rows_count; i++)
		if (account->row_kinds[i] == TH_BREAKDOWN_MALLOC_DIRECT &&
			account->row_touched[i].samples &&
			th_breakdown_is_cached_buffer(profile, &profile->rows[i]))
			th_estimator_merge(&sum, &account->row_touched[i]);
	account->cached = part_of_buffers(account, &sum);
	account->unjudged = part_of_buffers(account, &sums->unjudged);
}

void
th_breakdown_divide_malloc(struct th_breakdown *account, const struct th_malloc_memory *memory)
{
	struct live_sums *sums = th_allocate(1, sizeof(*sums));

	sum_blocks(account, sums);
	account->live = estimate_live(account, &sums->all);
	account->touched = estimate(account, &sums->all_touched);
	for (int kind = TH_BREAKDOWN_MALLOC_VM; kind <= TH_BREAKDOWN_MALLOC_APPLICATION; kind++)
		account->lines[kind].size = estimate_live(account, &sums->live[kind]).estimate;
	divide_heaps(account, sums, memory->heaps);
	divide_mappings(account, sums, memory);
	divide_buffers(account, sums);
	free(sums->trim.stretches);
	free(sums->trim.blocks);
	free(sums);
}
