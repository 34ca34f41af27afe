/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing, at most half full.
 */
#include "report/map.h"

#include <stdlib.h>

#include "report/allocate.h"

#define FIRST_SLOTS 64

static size_t
slot_of(const struct th_map *map, uint64_t word)
{
	uint64_t hash = word * 0x9e3779b97f4a7c15u;
	size_t slot = (hash ^ hash >> 32) & (map->slots - 1);

	while (map->number[slot] && map->words[slot] != word)
		slot = (slot + 1) & (map->slots - 1);
	return slot;
}

static void
enlarge(struct th_map *map)
{
	struct th_map larger = {.slots = map->slots ? 2 * map->slots : FIRST_SLOTS};

	larger.words = th_allocate(larger.slots, sizeof(*larger.words));
	larger.number = th_allocate(larger.slots, sizeof(*larger.number));
	larger.count = map->count;
	for (size_t i = 0; i < map->slots; i++) {
		if (!map->number[i])
			continue;
		size_t slot = slot_of(&larger, map->words[i]);
		larger.words[slot] = map->words[i];
		larger.number[slot] = map->number[i];
	}
	th_map_deinit(map);
	*map = larger;
}

uint32_t
th_map_find(const struct th_map *map, uint64_t word)
{
	if (!map->slots)
		return TH_MAP_NONE;
	return map->number[slot_of(map, word)] - 1;
}

uint32_t
th_map_intern(struct th_map *map, uint64_t word, bool *added_ret)
{
	if (2 * (size_t)map->count >= map->slots)
		enlarge(map);
	size_t slot = slot_of(map, word);
	*added_ret = !map->number[slot];
	if (*added_ret) {
		map->words[slot] = word;
		map->number[slot] = ++map->count;
	}
	return map->number[slot] - 1;
}

void
th_map_deinit(struct th_map *map)
{
	free(map->words);
	free(map->number);
	*map = (struct th_map){0};
}
