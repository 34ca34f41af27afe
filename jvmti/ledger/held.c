/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of one cache line of keys.  A key is in its own bucket, or in the next one if that was full:
 * `spilled` counts those, and only then the next one is searched.
 */
#include "jvmti/ledger/held.h"

#include <string.h>

#include "unify/base/memory.h"

#define KEYS 7
#define BUCKET_BITS 14
#define BUCKETS (1u << BUCKET_BITS)
_Static_assert(BUCKETS * 8 == TH_HELD_MAX, "a bucket of 8 words");
/* A slot whose sample is being written; no key, since its kind is 0. */
#define BUSY 1

struct bucket {
	uint64_t keys[KEYS]; /* atomic; 0 = free */
	uint64_t spilled;    /* atomic: keys of this bucket that are in the next one */
};

static struct {
	struct bucket *buckets;
	uint64_t (*samples)[KEYS]; /* of a slot; written while it is BUSY */
	uint32_t count;            /* atomic */
} held;

uint8_t th_held_present[TH_HELD_MAX];

bool
th_held_init(void)
{
	if (!held.samples)
		held.samples = th_memory_map(BUCKETS * sizeof(*held.samples));
	if (held.samples && !held.buckets)
		held.buckets = th_memory_map(BUCKETS * sizeof(*held.buckets));
	return held.buckets != NULL;
}

static uint32_t
home_of(uint64_t key)
{
	return th_held_hash(key, BUCKET_BITS);
}

/* The slot of a key in a bucket; KEYS: none. */
static unsigned
find(const struct bucket *bucket, uint64_t key)
{
	for (unsigned i = 0; i < KEYS; i++)
		/* Pairs with the release in write_slot(): the sample is written. */
		if (th_load_acquire(&bucket->keys[i]) == key)
			return i;
	return KEYS;
}

static void
write_slot(uint32_t number, unsigned slot, uint64_t key, uint64_t sample)
{
	held.samples[number][slot] = sample;
	th_store_release(&held.buckets[number].keys[slot], key);
}

/* Replaces the sample of a key that is in the bucket. */
static bool
replace(uint32_t number, uint64_t key, uint64_t sample, uint64_t *replaced_ret)
{
	unsigned slot = find(&held.buckets[number], key);
	uint64_t expected = key;

	if (slot == KEYS || !th_cas_acq_rel(&held.buckets[number].keys[slot], &expected, BUSY))
		return false;
	*replaced_ret = held.samples[number][slot];
	write_slot(number, slot, key, sample);
	return true;
}

/* Two buckets have room for 14 keys of one hash value, so the count does not overflow. */
static void
count_key(uint64_t key, int more)
{
	th_add_relaxed(&th_held_present[th_held_hash(key, TH_HELD_BITS)], (uint8_t)more);
}

static bool
insert(uint32_t number, uint64_t key, uint64_t sample)
{
	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t expected = 0;

		if (th_load_relaxed(&held.buckets[number].keys[i]) ||
			!th_cas_acq_rel(&held.buckets[number].keys[i], &expected, BUSY))
			continue;
		write_slot(number, i, key, sample);
		th_add_relaxed(&held.count, 1);
		return true;
	}
	return false;
}

bool
th_held_put(uint64_t key, uint64_t sample, uint64_t *replaced_ret)
{
	uint32_t home = home_of(key);
	uint32_t next = (home + 1) % BUCKETS;
	uint64_t *spilled = &held.buckets[home].spilled;

	*replaced_ret = 0;
	if (replace(home, key, sample, replaced_ret) ||
		(th_load_relaxed(spilled) && replace(next, key, sample, replaced_ret)))
		return true;
	count_key(key, 1);
	if (insert(home, key, sample))
		return true;
	/* First, so that the key is found as soon as it is there. */
	th_add_relaxed(spilled, 1);
	if (insert(next, key, sample))
		return true;
	th_add_relaxed(spilled, -1);
	count_key(key, -1);
	return false;
}

static uint64_t
remove_from(uint32_t number, uint64_t key)
{
	unsigned slot = find(&held.buckets[number], key);
	uint64_t expected = key;
	uint64_t sample;

	if (slot == KEYS || !th_cas_acq_rel(&held.buckets[number].keys[slot], &expected, BUSY))
		return 0;
	sample = held.samples[number][slot];
	th_store_release(&held.buckets[number].keys[slot], 0);
	count_key(key, -1);
	th_add_relaxed(&held.count, -1);
	return sample;
}

uint64_t
th_held_take(uint64_t key)
{
	uint32_t home = home_of(key);
	uint64_t sample = remove_from(home, key);

	if (sample || !th_load_relaxed(&held.buckets[home].spilled))
		return sample;
	sample = remove_from((home + 1) % BUCKETS, key);
	if (sample)
		th_add_relaxed(&held.buckets[home].spilled, -1);
	return sample;
}

uint64_t
th_held_find(uint64_t key)
{
	uint32_t home = home_of(key);
	unsigned slot = find(&held.buckets[home], key);

	if (slot == KEYS && th_load_relaxed(&held.buckets[home].spilled)) {
		home = (home + 1) % BUCKETS;
		slot = find(&held.buckets[home], key);
	}
	return slot == KEYS ? 0 : held.samples[home][slot];
}

uint32_t
th_held_count(void)
{
	return th_load_relaxed(&held.count);
}

static void
visit_slot(uint32_t number, unsigned slot, uint32_t kind,
	void (*visit)(uintptr_t address, uint64_t sample, void *data), void *data)
{
	/* Pairs with the release in write_slot(): the sample is written. */
	uint64_t key = th_load_acquire(&held.buckets[number].keys[slot]);

	if (key >> 56 == kind)
		visit((uintptr_t)(key & UINT64_C(0xffffffffffffff)), held.samples[number][slot],
			data);
}

void
th_held_each(uint32_t kind, void (*visit)(uintptr_t address, uint64_t sample, void *data),
	void *data)
{
	for (uint32_t number = 0; held.buckets && number < BUCKETS; number++)
		for (unsigned slot = 0; slot < KEYS; slot++)
			visit_slot(number, slot, kind, visit, data);
}

void
th_held_clear(void)
{
	if (!held.buckets)
		return;
	memset(held.buckets, 0, BUCKETS * sizeof(*held.buckets));
	memset(th_held_present, 0, sizeof(th_held_present));
	th_store_relaxed(&held.count, 0);
}
