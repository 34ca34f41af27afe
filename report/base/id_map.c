/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small words have their numbers in an array. All others: open addressing with linear probing,
 * at most half full. A slot holds only a number; the words are stored by number, so free slots
 * take no room for them, and rehashing reads them in order.
 */
#include "report/base/id_map.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/allocate.h"
#include "report/base/hash.h"

#define FIRST_SLOTS 64
/* At this density the array takes no more memory than slots would. */
#define DIRECT_PER_WORD 8
#define DIRECT_LEAST 256

/* Index at which the search for a word begins. */
static size_t
first_slot(const struct th_id_map *map, uint64_t word)
{
	return th_hash_word(word) & (map->slot_count - 1);
}

/* The slot with the number of a word, or the free one for it. */
static uint32_t *
slot_of(const struct th_id_map *map, uint64_t word)
{
	size_t slot = first_slot(map, word);

	while (map->slots[slot] && map->words[map->slots[slot] - 1] != word)
		slot = (slot + 1) & (map->slot_count - 1);
	return &map->slots[slot];
}

/* Doubles the number of slots and reinserts the words. */
static void
enlarge(struct th_id_map *map)
{
	map->slot_count = map->slot_count ? 2 * map->slot_count : FIRST_SLOTS;
	free(map->slots);
	map->slots = th_allocate(map->slot_count, sizeof(*map->slots));
	for (uint32_t i = 0; i < map->count; i++) {
		uint64_t word = map->words[i];
		bool is_direct = word < map->direct_count && map->direct[word] == i + 1;

		if (!is_direct)
			*slot_of(map, word) = i + 1;
	}
}

/* Makes room for a word in the array, if there are enough words for an array of that length. */
static bool
is_small(struct th_id_map *map, uint64_t word)
{
	if (word < map->direct_count)
		return true;
	if (word / DIRECT_PER_WORD >= (uint64_t)map->count + DIRECT_LEAST)
		return false;
	size_t count = 2 * ((size_t)word + DIRECT_LEAST);
	uint32_t *larger = th_allocate(count, sizeof(*larger));

	if (map->direct_count)
		memcpy(larger, map->direct, map->direct_count * sizeof(*larger));
	free(map->direct);
	map->direct = larger;
	map->direct_count = count;
	return true;
}

uint32_t
th_id_map_find_slot(const struct th_id_map *map, uint64_t word)
{
	/*
	 * A small word may be in a slot if it was added when there were too few for an array.
	 */
	return map->slots_used ? *slot_of(map, word) - 1 : TH_ID_MAP_NONE;
}

uint32_t
th_id_map_intern(struct th_id_map *map, uint64_t word, bool *added_ret)
{
	uint32_t number = th_id_map_find(map, word);

	if (added_ret)
		*added_ret = number == TH_ID_MAP_NONE;
	if (number != TH_ID_MAP_NONE)
		return number;
	number = map->count;
	map->words = th_array_grow(
		map->words, number, &map->words_capacity, sizeof(*map->words));
	map->words[number] = word;
	if (is_small(map, word)) {
		map->direct[word] = number + 1;
	} else {
		if (2 * (size_t)map->slots_used >= map->slot_count)
			enlarge(map);
		map->slots_used++;
		*slot_of(map, word) = number + 1;
	}
	map->count++;
	return number;
}

void
th_id_map_deinit(struct th_id_map *map)
{
	free(map->direct);
	free(map->slots);
	free(map->words);
	*map = (struct th_id_map){0};
}
