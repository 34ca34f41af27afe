/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash set of frame words without locks, and a list of its members.  A slot is claimed by a
 * compare-and-swap of the word itself; the thread that claims it appends the word to the list.
 * Entries are never removed.
 */
#include "unify/log/met_addresses.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "unify/base/atomic.h"
#include "unify/base/memory.h"
#include "unify/log/log.h"

/*
 * The set grows by levels, each twice the size of the previous one, when half of a level is
 * taken: 32 KiB for most programs, 2 MiB at the maximum; the list by equal parts of 32 KiB, up
 * to 512 KiB.
 */
#define FIRST_SLOTS 4096u
#define LEVELS 6
/* Probes before a level counts as full: at the maximum, half the slots are taken. */
#define PROBES 64
#define PART_ITEMS 4096u
#define PARTS (TH_MET_MAX / PART_ITEMS)

static struct level {
	uint64_t *slots; /* atomic; NULL: not allocated yet; 0 = free */
	uint32_t taken;  /* atomic */
} levels[LEVELS];
/* Atomic; NULL: not allocated yet.  Items are 0 until they are stored. */
static uint64_t *list[PARTS];
static uint32_t count; /* atomic; may exceed TH_MET_MAX */

enum outcome { KNOWN, ADDED, FULL };

static enum outcome
add_to(struct level *level, uint32_t slots, uint64_t word)
{
	uint64_t *table = th_memory_map_once(&level->slots, slots * sizeof(*table));
	uint64_t first = word * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t probe = 0; table && probe < PROBES; probe++) {
		uint64_t *slot = &table[(first + probe) & (slots - 1)];
		uint64_t found = th_load_relaxed(slot);

		if (!found) {
			if (th_load_relaxed(&level->taken) >= slots / 2)
				return FULL;
			if (th_cas_acq_rel(slot, &found, word)) {
				th_add_relaxed(&level->taken, 1);
				return ADDED;
			}
		}
		if (found == word)
			return KNOWN;
	}
	return FULL;
}

static bool
append(uint64_t word)
{
	uint32_t index;
	uint64_t *part;

	if (th_load_relaxed(&count) >= TH_MET_MAX)
		return false;
	index = th_add_relaxed(&count, 1);
	if (index >= TH_MET_MAX)
		return false;
	part = th_memory_map_once(&list[index / PART_ITEMS], PART_ITEMS * sizeof(*part));
	if (!part)
		return false;
	/* Pairs with the acquire in th_met_get(): the module is in its table. */
	th_store_release(&part[index % PART_ITEMS], word);
	return true;
}

void
th_met_add(uint64_t word)
{
	enum outcome outcome = FULL;

	for (unsigned i = 0; i < LEVELS && outcome == FULL; i++)
		outcome = add_to(&levels[i], FIRST_SLOTS << i, word);
	if (outcome == FULL || (outcome == ADDED && !append(word)))
		th_log_count(TH_COUNTER_NAMES_FULL, 1);
}

uint32_t
th_met_count(void)
{
	uint32_t known = th_load_relaxed(&count);

	return known < TH_MET_MAX ? known : TH_MET_MAX;
}

uint64_t
th_met_get(uint32_t index)
{
	uint64_t *part = th_load_acquire(&list[index / PART_ITEMS]);

	return part ? th_load_acquire(&part[index % PART_ITEMS]) : 0;
}

void
th_met_reset(void)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		th_memory_retire(levels[i].slots);
		levels[i] = (struct level){NULL, 0};
	}
	for (unsigned i = 0; i < PARTS; i++)
		th_memory_retire(list[i]);
	memset(list, 0, sizeof(list));
	count = 0;
}
