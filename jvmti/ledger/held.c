/* SPDX-License-Identifier: Apache-2.0 */
/* A key is in one of PROBES slots in a row, from its hash value on. */
#include "jvmti/ledger/held.h"

#include <string.h>

#include "unify/base/align.h"
#include "unify/base/memory.h"

/* Two cache lines: with half of the slots in use, 3 in 10,000 keys find none free. */
#define PROBES 16
#define NO_SLOT TH_HELD_MAX
/* A slot whose sample is being written; no key, since its kind is 0. */
#define BUSY 1

static struct {
	uint64_t *keys;    /* atomic; 0 = free */
	uint64_t *samples; /* of a slot; written while it is BUSY */
	uint32_t count;    /* atomic */
} held;

uint8_t th_held_present[TH_HELD_MAX];

bool
th_held_init(void)
{
	if (!held.samples)
		held.samples = th_memory_map(TH_HELD_MAX * sizeof(*held.samples));
	if (held.samples && !held.keys)
		held.keys = th_memory_map(TH_HELD_MAX * sizeof(*held.keys));
	return held.keys != NULL;
}

/* The first of its slots; the last hash values share theirs. */
static uint32_t
home_of(uint64_t key)
{
	return (uint32_t)th_min(th_held_hash(key, TH_HELD_BITS), TH_HELD_MAX - PROBES);
}

static uint32_t
find(uint64_t key)
{
	const uint32_t home = home_of(key);

	for (uint32_t slot = home; slot < home + PROBES; slot++)
		/* Pairs with the release in write_slot(): the sample is written. */
		if (th_load_acquire(&held.keys[slot]) == key)
			return slot;
	return NO_SLOT;
}

/* Makes a slot that contains a key, or 0, BUSY. */
static bool
claim(uint32_t slot, uint64_t key)
{
	return slot != NO_SLOT && th_cas_acq_rel(&held.keys[slot], &key, BUSY);
}

static void
write_slot(uint32_t slot, uint64_t key, uint64_t sample)
{
	held.samples[slot] = sample;
	th_store_release(&held.keys[slot], key);
}

/* At most PROBES keys have one hash value, so the count does not overflow. */
static void
count_key(uint64_t key, int more)
{
	th_add_relaxed(&th_held_present[th_held_hash(key, TH_HELD_BITS)], (uint8_t)more);
}

static bool
insert(uint64_t key, uint64_t sample)
{
	const uint32_t home = home_of(key);

	for (uint32_t slot = home; slot < home + PROBES; slot++) {
		if (th_load_relaxed(&held.keys[slot]) || !claim(slot, 0))
			continue;
		write_slot(slot, key, sample);
		th_add_relaxed(&held.count, 1);
		return true;
	}
	return false;
}

bool
th_held_put(uint64_t key, uint64_t sample, uint64_t *replaced_ret)
{
	uint32_t slot = find(key);

	*replaced_ret = 0;
	if (claim(slot, key)) {
		*replaced_ret = held.samples[slot];
		write_slot(slot, key, sample);
		return true;
	}
	count_key(key, 1);
	if (insert(key, sample))
		return true;
	count_key(key, -1);
	return false;
}

uint64_t
th_held_take(uint64_t key)
{
	uint32_t slot = find(key);

	if (!claim(slot, key))
		return 0;
	uint64_t sample = held.samples[slot];
	th_store_release(&held.keys[slot], 0);
	count_key(key, -1);
	th_add_relaxed(&held.count, -1);
	return sample;
}

uint64_t
th_held_find(uint64_t key)
{
	uint32_t slot = find(key);

	return slot == NO_SLOT ? 0 : held.samples[slot];
}

uint32_t
th_held_count(void)
{
	return th_load_relaxed(&held.count);
}

void
th_held_each(uint32_t kind, void (*visit)(uintptr_t address, uint64_t sample, void *data),
	void *data)
{
	for (uint32_t slot = 0; held.keys && slot < TH_HELD_MAX; slot++) {
		/* Pairs with the release in write_slot(): the sample is written. */
		uint64_t key = th_load_acquire(&held.keys[slot]);

		if (key >> 56 == kind)
			visit((uintptr_t)(key & UINT64_C(0xffffffffffffff)), held.samples[slot],
				data);
	}
}

void
th_held_clear(void)
{
	if (!held.keys)
		return;
	memset(held.keys, 0, TH_HELD_MAX * sizeof(*held.keys));
	memset(th_held_present, 0, sizeof(th_held_present));
	th_store_relaxed(&held.count, 0);
}
