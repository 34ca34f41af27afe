/* SPDX-License-Identifier: Apache-2.0 */
#include "unify/base/hash_set.h"

#include "unify/base/atomic.h"
#include "unify/base/memory.h"

/* Probes before a level counts as full; at most half of its slots are taken. */
#define PROBES 64

static size_t
bytes_of(unsigned level)
{
	return th_hash_set_slots(level) * sizeof(uint64_t);
}

/* In one level; a level that becomes full meanwhile may leave a word in two of them. */
static struct th_hash_entry
look_in(struct th_hash_set *set, unsigned number, uint64_t word, bool may_add)
{
	struct th_hash_level *level = &set->levels[number];
	const uint32_t slots = th_hash_set_slots(number);
	const uint32_t before = (slots - TH_HASH_SET_FIRST) / 3;
	const uint64_t first = word * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t *table = may_add ? th_memory_map_once(&level->slots, bytes_of(number))
				  : th_load_acquire(&level->slots);

	for (uint32_t probe = 0; table && probe < PROBES; probe++) {
		uint32_t at = (uint32_t)(first + probe) & (slots - 1);
		struct th_hash_entry entry = {&table[at], before + at + 1, false};
		uint64_t found = th_load_relaxed(entry.word);

		if (!found) {
			if (!may_add || th_load_relaxed(&level->taken) >= slots / 2)
				break;
			entry.is_new = th_cas_acq_rel(entry.word, &found, word);
			th_add_relaxed(&level->taken, entry.is_new);
		}
		if (entry.is_new || !((found ^ word) & ~TH_HASH_SET_MARK))
			return entry;
	}
	return (struct th_hash_entry){.word = NULL};
}

struct th_hash_entry
th_hash_set_add(struct th_hash_set *set, uint64_t word)
{
	struct th_hash_entry entry = {.word = NULL};

	for (unsigned i = 0; i < TH_HASH_SET_LEVELS && !entry.word; i++)
		entry = look_in(set, i, word, true);
	return entry;
}

uint32_t
th_hash_set_find(struct th_hash_set *set, uint64_t word)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < TH_HASH_SET_LEVELS && !number; i++)
		number = look_in(set, i, word, false).number;
	return number;
}

void
th_hash_set_clear(struct th_hash_set *set)
{
	for (unsigned i = 0; i < TH_HASH_SET_LEVELS; i++) {
		uint64_t *slots = th_load_acquire(&set->levels[i].slots);

		if (slots)
			memset(slots, 0, bytes_of(i));
		th_store_relaxed(&set->levels[i].taken, 0);
	}
}

void
th_hash_set_reset(struct th_hash_set *set)
{
	for (unsigned i = 0; i < TH_HASH_SET_LEVELS; i++) {
		th_memory_retire(set->levels[i].slots);
		set->levels[i] = (struct th_hash_level){NULL, 0};
	}
}
