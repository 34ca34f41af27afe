/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/sample/survivors.h"

#include <stddef.h>
#include <string.h>

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

/* Sites whose path is known: those sampled last. */
#define SITES 1024
/* Paths with survivors are counted by their hash; those that share one have a few sites too many. */
#define PATHS 4096

/* A mixture of two samples, written by two threads at once, is one wrong count. */
struct entry {
	uint64_t sample; /* atomic; 0: none */
	uint64_t time;   /* atomic */
	uint64_t far;    /* atomic: of its site */
	uint64_t path;   /* atomic */
};

/* The path of the latest sample of a site. */
struct site {
	uint64_t far;  /* atomic */
	uint64_t path; /* atomic */
};

static struct {
	struct entry entries[2][ENTRIES]; /* Java, native */
	struct site sites[2][SITES];
	uint64_t collected;    /* atomic */
	uint16_t paths[PATHS]; /* survivors of each, while they are counted; the writer's */
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

static struct site *
site_of(enum th_heap heap, uint64_t far)
{
	return &survivors.sites[heap - TH_HEAP_JAVA][far % SITES];
}

void
th_survivors_add(
	enum th_heap heap, struct th_survivor_origin origin, uint64_t sample, uint64_t now)
{
	struct entry *bucket = bucket_of(heap, sample);
	struct entry *entry;

	if (!bucket)
		return;
	entry = entry_for_new(bucket);
	th_store_relaxed(&entry->sample, 0);
	th_store_relaxed(&entry->time, now);
	th_store_relaxed(&entry->far, origin.far);
	th_store_relaxed(&entry->path, origin.path);
	th_store_release(&entry->sample, sample);
	th_store_relaxed(&site_of(heap, origin.far)->far, origin.far);
	th_store_relaxed(&site_of(heap, origin.far)->path, origin.path);
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

/* Whether the site of an entry is known, by the same path. */
static bool
has_site(enum th_heap heap, const struct entry *entry)
{
	const struct site *site = site_of(heap, th_load_relaxed(&entry->far));

	return th_load_relaxed(&site->far) == th_load_relaxed(&entry->far) &&
	       th_load_relaxed(&site->path) == th_load_relaxed(&entry->path);
}

static void
count_entries(enum th_heap heap, uint64_t before, struct th_site_rates *sites)
{
	const struct entry *entries = entries_of(heap);

	memset(survivors.paths, 0, sizeof(survivors.paths));
	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct entry *entry = &entries[i];

		if (!th_load_acquire(&entry->sample) || th_load_relaxed(&entry->time) >= before)
			continue;
		uint16_t *path = &survivors.paths[th_load_relaxed(&entry->path) % PATHS];
		*path += *path < UINT16_MAX;
		if (!has_site(heap, entry))
			th_site_rates_add_survivors(sites, th_load_relaxed(&entry->far), 1);
	}
}

void
th_survivors_count(enum th_heap heap, uint64_t start, uint64_t now, struct th_site_rates *sites)
{
	th_site_rates_forget_survivors(sites);
	if (!entries_of(heap))
		return;
	count_entries(heap, born_before(heap, start, now), sites);
	for (unsigned i = 0; i < SITES; i++) {
		const struct site *site = &survivors.sites[heap - TH_HEAP_JAVA][i];
		uint64_t path = th_load_relaxed(&site->path);

		if (path && survivors.paths[path % PATHS])
			th_site_rates_add_survivors(sites, th_load_relaxed(&site->far),
				survivors.paths[path % PATHS]);
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
	for (unsigned i = 0; i < SITES; i++) {
		if (survivors.sites[0][i].far)
			survivors.sites[0][i].far = survivors.sites[0][i].path = 0;
		if (survivors.sites[1][i].far)
			survivors.sites[1][i].far = survivors.sites[1][i].path = 0;
	}
	survivors.collected = 0;
}
