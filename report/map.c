/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small words have their numbers in an array, an eighth of the memory and of the cache misses.  The
 * others: open addressing with linear probing, at most half full.
 */
#include "report/map.h"

#include <stdlib.h>
#include <string.h>

#include "report/allocate.h"

#define FIRST_SLOTS 64
/* As sparse as this the array takes no more memory than slots would. */
#define DIRECT_PER_WORD 8
#define DIRECT_LEAST 256

/* Where the search for a word begins. */
static size_t
first_slot(const struct th_map *map, uint64_t word)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 32) & (map->slot_count - 1);
}

static struct th_map_slot *
slot_of(const struct th_map *map, uint64_t word)
{
	size_t slot = first_slot(map, word);

	while (map->slots[slot].number && map->slots[slot].word != word)
		slot = (slot + 1) & (map->slot_count - 1);
	return &map->slots[slot];
}

static void
enlarge(struct th_map *map)
{
	size_t count = map->slot_count ? 2 * map->slot_count : FIRST_SLOTS;
	struct th_map larger = {
		.slots = th_allocate(count, sizeof(*larger.slots)), .slot_count = count};

	for (size_t i = 0; i < map->slot_count; i++) {
		if (map->slots[i].number)
			*slot_of(&larger, map->slots[i].word) = map->slots[i];
	}
	free(map->slots);
	map->slots = larger.slots;
	map->slot_count = count;
}

/* Makes room for a word in the array, if there are words enough for one that long. */
static bool
is_small(struct th_map *map, uint64_t word)
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
th_map_find(const struct th_map *map, uint64_t word)
{
	if (word < map->direct_count && map->direct[word])
		return map->direct[word] - 1;
	/* A small word is there as well if it came when there were too few for an array. */
	return map->slots_used ? slot_of(map, word)->number - 1 : TH_MAP_NONE;
}

static void
add(struct th_map *map, uint64_t word)
{
	map->count++;
	if (is_small(map, word)) {
		map->direct[word] = map->count;
		return;
	}
	if (2 * (size_t)map->slots_used >= map->slot_count)
		enlarge(map);
	map->slots_used++;
	*slot_of(map, word) = (struct th_map_slot){word, map->count};
}

uint32_t
th_map_intern(struct th_map *map, uint64_t word, bool *added_ret)
{
	uint32_t number = th_map_find(map, word);

	*added_ret = number == TH_MAP_NONE;
	if (!*added_ret)
		return number;
	add(map, word);
	return map->count - 1;
}

void
th_map_expect(const struct th_map *map, uint64_t word)
{
	if (word < map->direct_count)
		__builtin_prefetch(&map->direct[word]);
	else if (map->slot_count)
		__builtin_prefetch(&map->slots[first_slot(map, word)]);
}

void
th_map_deinit(struct th_map *map)
{
	free(map->direct);
	free(map->slots);
	*map = (struct th_map){0};
}
