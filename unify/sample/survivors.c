/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/survivors.h"

#include <stddef.h>

#include "unify/base/atomic.h"
#include "unify/shared/clock.h"
#include "unify/shared/hash.h"

/* Samples of a minute at the default budget. */
#define ENTRIES 8192
/* Those of one hash, where a sample may be. */
#define BUCKET 4
/* A survivor has lived for this part of the time so far, within these bounds. */
#define LIVED_PART 6
#define LIVED_LEAST_NS (2 * (uint64_t)TH_NS_PER_S)
#define LIVED_MOST_NS (10 * (uint64_t)TH_NS_PER_S)

/* A mixture of two samples, written by two threads at once, is one wrong count. */
struct entry {
	uint64_t sample; /* atomic; 0: none */
	uint64_t time;   /* atomic */
	uint64_t site;   /* atomic: hash of the far key */
};

static struct {
	struct entry entries[2][ENTRIES]; /* Java, native */
	uint64_t collected;               /* atomic */
} survivors;

/* NULL: the heap's samples are not followed here. */
static struct entry *
entries_of(enum th_heap heap)
{
	if (heap == TH_HEAP_MAPPED)
		return NULL;
	return survivors.entries[heap - TH_HEAP_JAVA];
}

static struct entry *
bucket_of(enum th_heap heap, uint64_t sample)
{
	struct entry *entries = entries_of(heap);

	return entries ? &entries[th_hash_mix(sample) % (ENTRIES / BUCKET) * BUCKET] : NULL;
}

/* An unused entry, or the youngest: what has survived for long is what the table is for. */
static struct entry *
entry_for_new(struct entry *bucket)
{
	struct entry *youngest = bucket;

	for (unsigned i = 0; i < BUCKET; i++) {
		if (!th_load_relaxed(&bucket[i].sample))
			return &bucket[i];
		if (th_load_relaxed(&bucket[i].time) > th_load_relaxed(&youngest->time))
			youngest = &bucket[i];
	}
	return youngest;
}

void
th_survivors_add(enum th_heap heap, struct th_site_key site, uint64_t sample, uint64_t now)
{
	struct entry *bucket = bucket_of(heap, sample);
	struct entry *entry;

	if (!bucket)
		return;
	entry = entry_for_new(bucket);
	th_store_relaxed(&entry->sample, 0);
	th_store_relaxed(&entry->time, now);
	th_store_relaxed(&entry->site, site.far);
	th_store_release(&entry->sample, sample);
}

void
th_survivors_remove(enum th_heap heap, uint64_t sample)
{
	struct entry *bucket = sample ? bucket_of(heap, sample) : NULL;

	for (unsigned i = 0; bucket && i < BUCKET; i++) {
		uint64_t expected = sample;

		if (th_cas_acq_rel(&bucket[i].sample, &expected, 0))
			return;
	}
}

void
th_survivors_collected(uint64_t time)
{
	th_store_relaxed(&survivors.collected, time);
}

/* Samples from before this are survivors. */
static uint64_t
born_before(enum th_heap heap, uint64_t start, uint64_t now)
{
	uint64_t collected = th_load_relaxed(&survivors.collected);
	uint64_t lived = (now - start) / LIVED_PART;
	uint64_t before;

	if (lived < LIVED_LEAST_NS)
		lived = LIVED_LEAST_NS;
	if (lived > LIVED_MOST_NS)
		lived = LIVED_MOST_NS;
	before = now > lived ? now - lived : 0;
	return heap == TH_HEAP_JAVA && collected < before ? collected : before;
}

void
th_survivors_count(enum th_heap heap, uint64_t start, uint64_t now, struct th_site_rates *sites)
{
	const struct entry *entries = entries_of(heap);
	uint64_t before = born_before(heap, start, now);

	th_site_rates_forget_survivors(sites);
	for (unsigned i = 0; entries && i < ENTRIES; i++) {
		if (th_load_acquire(&entries[i].sample) &&
			th_load_relaxed(&entries[i].time) < before)
			th_site_rates_add_survivor(sites, th_load_relaxed(&entries[i].site));
	}
}

void
th_survivors_reset(void)
{
	for (unsigned i = 0; i < ENTRIES; i++) {
		/* Untouched pages stay so. */
		if (survivors.entries[0][i].sample)
			survivors.entries[0][i].sample = 0;
		if (survivors.entries[1][i].sample)
			survivors.entries[1][i].sample = 0;
	}
	survivors.collected = 0;
}
